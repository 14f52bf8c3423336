#include "symbolize/stack_namer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/byte_cursor.h"
#include "base/open_file.h"
#include "symbolize/demangle.h"

namespace jitscope {
namespace {

// Words of the copied stack by their address in the target.
class StackCopy {
 public:
  StackCopy(uint64_t sp, std::span<const std::byte> bytes) : sp_(sp), bytes_(bytes) {}
  [[nodiscard]] std::optional<uint64_t> word(uint64_t address) const {
    if (address < sp_ || (address & 7U) != 0) return std::nullopt;
    ByteCursor cursor(bytes_);
    cursor.seek(address - sp_);
    const uint64_t value = cursor.u64();
    if (!cursor.ok()) return std::nullopt;
    return value;
  }

 private:
  uint64_t sp_;
  std::span<const std::byte> bytes_;
};

bool is_interpreter(const CodeBody& body) {
  return body.tier == Tier::stub && body.name->raw.find("nterpreter") != std::string::npos;
}

std::string file_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == path.npos ? path : path.substr(slash + 1));
}

std::string module_of(const CodeBody& body) {
  return fmt::format("{} {}", to_string(body.source), to_string(body.tier));
}

}  // namespace

void StackNamer::update(const Snapshot& snapshot) {
  bodies_ = snapshot.bodies;
  std::ranges::stable_sort(bodies_, {}, &CodeBody::address);
  if (auto maps = process_.maps()) maps_ = std::move(*maps);
  call_sites_.clear();  // code may have been replaced
}

const CodeBody* StackNamer::body_at(uint64_t address) const {
  auto after = std::ranges::upper_bound(bodies_, address, {}, &CodeBody::address);
  if (after == bodies_.begin()) return nullptr;
  --after;
  return address - after->address < after->size ? &*after : nullptr;
}

const Mapping* StackNamer::executable_mapping(uint64_t address) {
  const Mapping* mapping = find_mapping(maps_, address);
  return mapping != nullptr && mapping->executable ? mapping : nullptr;
}

bool StackNamer::after_call(uint64_t address) {
  if (const auto found = call_sites_.find(address); found != call_sites_.end()) {
    return found->second;
  }
  std::array<std::byte, 8> before = {};
  bool call = false;
  if (executable_mapping(address) != nullptr && address > before.size() &&
      process_.memory().read(address - before.size(), before)) {
    auto at = [&](size_t back) { return std::to_integer<unsigned>(before[before.size() - back]); };
    call = at(5) == 0xe8;  // call rel32
    // call r/m64: ff /2 with a ModRM byte, SIB and displacement of 2 to 7 bytes in all.
    for (size_t length = 2; length <= 7 && !call; ++length) {
      call = at(length) == 0xff && ((at(length - 1) >> 3U) & 7U) == 2;
    }
  }
  if (call_sites_.size() > 100'000) call_sites_.clear();
  call_sites_.emplace(address, call);
  return call;
}

// The file as the target sees it, when it still has its name there; else through the mapping
// itself.
std::unique_ptr<ElfImage> StackNamer::open_image(const Mapping& mapping) const {
  ElfImageOptions options;
  options.root = root_of(process_.pid());
  const auto there = open_regular_file(mapping.path, options.root);
  const bool same = there && there->status.st_ino == mapping.inode;
  if (!same) options.root.clear();
  auto opened =
      ElfImage::open(same ? mapping.path : mapping.map_files_path(process_.pid()), {}, options);
  return opened ? std::move(*opened) : nullptr;
}

StackFrame StackNamer::name_in_file(uint64_t address, const Mapping& mapping) {
  StackFrame frame{address, {}, file_name(mapping.path), {}, false};
  if (!mapping.file_backed()) {
    frame.module = mapping.path.empty() ? "[anon]" : mapping.path;
    const bool vdso = mapping.path == "[vdso]";
    frame.reason = vdso ? "vdso" : "no code source knows this address";
    frame.in_jit_memory = !vdso;
    return frame;
  }
  // By inode too: a library and its successor after an upgrade have the same path.
  if (budget_.spent()) {
    frame.reason = "reading files for their names took too long";
    return frame;
  }
  const auto [place, added] = files_.try_emplace(fmt::format(
      "{}:{}:{}:{}", mapping.dev_major, mapping.dev_minor, mapping.inode, mapping.path));
  auto& image = place->second;
  if (added) {
    const WorkBudget::Piece piece(budget_);
    image = open_image(mapping);
  }
  const uint64_t offset = address - 1 - mapping.start + mapping.offset;
  const auto in_file = image != nullptr ? image->address_of_offset(offset) : std::nullopt;
  if (!in_file) {
    frame.reason = "not an ELF file, or not in its executable segments";
    return frame;
  }
  const auto hit = image->symbol_at(*in_file);
  if (hit) frame.name = demangle(hit->raw);
  if (frame.name.empty()) {
    frame.reason = image->left_out().empty() ? "no symbol" : "no symbol; " + image->left_out();
  }
  return frame;
}

StackFrame StackNamer::name_frame(uint64_t address, const CodeBody* body) {
  if (body != nullptr) return {address, body->name->display(), module_of(*body), {}, false};
  const Mapping* mapping = find_mapping(maps_, address);
  if (mapping == nullptr) return {address, {}, {}, "not mapped", false};
  return name_in_file(address, *mapping);
}

Stack StackNamer::walk(uint64_t sp, uint64_t fp, std::span<const std::byte> stack, size_t most) {
  const StackCopy copy(sp, stack);
  Stack result;
  std::optional<uint64_t> pc = copy.word(sp);
  sp += 8;
  while (true) {
    if (!pc) {
      result.end = "the copied part of the stack ends";
      return result;
    }
    if (*pc == 0) {
      result.end = "complete";
      return result;
    }
    // A return address may be the first byte behind its body (a call that never returns).
    const CodeBody* body = body_at(*pc - 1);
    // The interpreter's return entries are jumped to by its dispatch table: no call is before them.
    const bool interpreted = body != nullptr && is_interpreter(*body);
    if (!interpreted && !after_call(*pc)) {
      result.end = "no frame pointer to follow";
      return result;
    }
    if (result.frames.size() >= most) {
      result.end = "deeper than shown";
      return result;
    }
    result.frames.push_back(name_frame(*pc, body));
    const bool by_size = body != nullptr && body->frame_bytes >= 16 && !interpreted;
    if (by_size) {
      const uint64_t caller = sp + body->frame_bytes;
      pc = copy.word(caller - 8);
      fp = copy.word(caller - 16).value_or(0);
      sp = caller;
      continue;
    }
    if (fp < sp || (fp & 7U) != 0) {
      result.end = fp == 0 ? "complete" : "no frame pointer to follow";
      return result;
    }
    pc = copy.word(fp + 8);
    const std::optional<uint64_t> saved = copy.word(fp);
    sp = fp + 16;
    if (interpreted) {
      sp = std::max(sp, copy.word(fp - 8).value_or(sp));
    }
    fp = saved.value_or(0);
  }
}

}  // namespace jitscope
