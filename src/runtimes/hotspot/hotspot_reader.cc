// Puts blocks, headers and names together; see hotspot_reader.h.
#include "runtimes/hotspot/hotspot_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "arch/machine.h"
#include "base/byte_cursor.h"
#include "base/work_limit.h"
#include "runtimes/hotspot/batch.h"
#include "runtimes/hotspot/vm_flags.h"

namespace jitscope::hotspot {
namespace {

constexpr uint32_t kStubNameBytes = 64;
constexpr uint64_t kEntryBytes = 8;
// From how many nmethods on a self-check says something.
// Of those that are kept from one look to the next.
constexpr uint64_t kAllNameBytes = 256U << 20U;
constexpr size_t kEnoughToJudge = 16;

constexpr std::string_view kTornHeader = "nmethod changed while being read";
constexpr std::string_view kTornName = "name of an nmethod not readable";

// The first eight of a method, as they were read.
std::span<const std::byte> bytes_of(const uint64_t& word) {
  return std::as_bytes(std::span(&word, 1));
}

std::vector<std::byte> little_endian(uint64_t value, size_t width) {
  std::vector<std::byte> bytes(width);
  for (size_t i = 0; i < width; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
  return bytes;
}

Tier tier_of(const NmethodHeader& header, const MethodInfo& info) {
  if (info.is_native() && header.level == 0) return Tier::native;
  switch (header.level) {  // CompLevel, compilerDefinitions.hpp
    case 1:
      return Tier::c1;
    case 2:
      return Tier::c1_limited;
    case 3:
      return Tier::c1_full;
    case 4:
      return Tier::c2;
    default:
      return Tier::unknown;
  }
}

Error took_too_long() {
  return {ErrorKind::not_possible,
          "reading what this JVM tells of itself took too long",
          {},
          "a JVM that is what it says is read within a second: its perf map can be used (jcmd PID "
          "Compiler.perfmap)",
          0};
}

bool same(const NmethodHeader& a, const NmethodHeader& b) {
  return a.method == b.method && a.compile_id == b.compile_id && b.state != NmethodState::dead;
}

}  // namespace

Result<HotspotReader> HotspotReader::open(MemoryReader& memory, const SymbolLookup& symbol,
                                          CallConvention convention) {
  JITSCOPE_ASSIGN(const VmStructs structs, VmStructs::read(memory, symbol));
  JITSCOPE_ASSIGN(CodeHeaps heaps, CodeHeaps::open(structs));
  JITSCOPE_ASSIGN(NmethodLayout layout, NmethodLayout::open(structs));
  JITSCOPE_ASSIGN(MethodNames names, MethodNames::open(structs));
  HotspotReader reader(std::move(heaps), std::move(layout), std::move(names), convention);
  // A JVM that does not describe its class graph still has its code read.
  if (auto classes = ClassGraph::open(structs)) reader.classes_ = std::move(*classes);
  // One that does not describe its scopes still has its bodies named.
  if (auto details = BodyDetails::open(structs)) reader.details_ = std::move(*details);
  // The code cache is set up after the options were read. Asked in this order: a JVM that is
  // starting may do both in between.
  const bool options_are_set = reader.heaps_.heaps(memory).has_value();
  reader.why_code_may_move_ = hotspot::why_code_may_move(memory, structs, options_are_set);
  return reader;
}

Status HotspotReader::read_blocks(MemoryReader& memory, Diagnostics& diagnostics,
                                  std::vector<Nmethod>& nmethods, std::vector<Stub>& stubs,
                                  uint64_t& torn) {
  JITSCOPE_ASSIGN(const auto ranges, heaps_.heaps(memory));
  heaps_low_ = UINT64_MAX;
  heaps_high_ = 0;
  for (const CodeHeapRange& range : ranges) {
    heaps_low_ = std::min(heaps_low_, range.low);
    heaps_high_ = std::max(heaps_high_, range.high);
  }
  struct Undecided {
    BlobHeader blob;
    uint64_t block = 0;
    std::optional<NmethodHeader> header;  // should it be one
  };
  std::vector<Undecided> blobs;
  for (const CodeHeapRange& range : ranges) {
    if (blobs.size() >= CodeHeaps::kMostBlocks) break;
    torn += heaps_.walk(
        memory, range, layout_.header_bytes(), diagnostics,
        [&](const HeapBlock& block) {
          const auto blob = layout_.decode_blob(block.blob, block.end, block.header);
          if (!blob) {
            ++torn;
            diagnostics.note("code blob changed while being read",
                             fmt::format("{:#x}", block.blob));
            return;
          }
          Undecided entry{*blob, block.address, {}};
          if (blob->is_nmethod.value_or(true))
            entry.header = layout_.decode_nmethod(*blob, block.header);
          blobs.push_back(std::move(entry));
        },
        CodeHeaps::kMostBlocks - blobs.size());
  }

  // Blob names: what the stubs are called, and on JVMs without CodeBlob::_kind what an nmethod is.
  std::vector<uint64_t> pointers;
  for (const Undecided& entry : blobs) {
    if (!entry.blob.is_nmethod.value_or(false)) pointers.push_back(entry.blob.name);
  }
  std::ranges::sort(pointers);
  pointers.erase(std::unique(pointers.begin(), pointers.end()), pointers.end());
  std::vector<ByteRange> reads;
  for (const uint64_t pointer : pointers) reads.push_back({pointer, kStubNameBytes});
  std::unordered_map<uint64_t, std::string> texts;
  read_ranges(memory, reads, [&](size_t i, std::span<const std::byte> bytes) {
    ByteCursor cursor(bytes);
    std::string_view text = cursor.c_string();
    if (!cursor.ok()) text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    const bool printable = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
    if (printable && !text.empty()) texts.emplace(pointers[i], text);
  });

  size_t implausible = 0;
  for (Undecided& entry : blobs) {
    const auto text = texts.find(entry.blob.name);
    const bool nmethod =
        entry.blob.is_nmethod.value_or(text != texts.end() && is_nmethod_name(text->second));
    if (!nmethod) {
      stubs.push_back({entry.blob, text == texts.end() ? "(unnamed stub)" : text->second});
    } else if (!entry.header) {
      ++torn;
      ++implausible;
      diagnostics.note(kTornHeader, fmt::format("{:#x}", entry.blob.blob));
    } else if (entry.header->state != NmethodState::dead) {
      nmethods.push_back({entry.block, entry.blob, *entry.header, nullptr, {}});
    }
  }
  if (implausible + nmethods.size() >= kEnoughToJudge && implausible > nmethods.size()) {
    return fail(ErrorKind::not_possible,
                fmt::format("the nmethods of this JVM do not look as it describes them ({} of {})",
                            implausible, implausible + nmethods.size()),
                {}, "its perf map can be used (jcmd PID Compiler.perfmap)");
  }
  return {};
}

void HotspotReader::read_names(MemoryReader& memory, Diagnostics& diagnostics,
                               std::vector<Nmethod>& nmethods, uint64_t& torn) {
  for (auto& [address, known] : known_) known.seen = false;
  std::vector<size_t> fresh;
  std::vector<uint64_t> methods;
  for (size_t i = 0; i < nmethods.size(); ++i) {
    const auto found = known_.find(nmethods[i].blob.blob);
    if (found != known_.end() && found->second.compile_id == nmethods[i].header.compile_id &&
        found->second.method == nmethods[i].header.method) {
      found->second.seen = true;
    } else {
      fresh.push_back(i);
      methods.push_back(nmethods[i].header.method);
    }
  }
  std::erase_if(known_, [](const auto& entry) { return !entry.second.seen; });
  uint64_t name_bytes = 0;
  for (const auto& [address, known] : known_) name_bytes += known.info.name->raw.size();
  if (name_bytes > kAllNameBytes) {
    diagnostics.note("names of methods that are too many and too long to be kept", {},
                     methods.size());
    methods.clear();
  }

  auto infos = names_.read(memory, methods);
  infos.resize(fresh.size());
  // Only a body that is still the same one now has kept its Method alive all the while.
  std::vector<bool> unchanged(fresh.size());
  std::vector<ByteRange> reads;
  const uint32_t block_bytes = heaps_.block_header_bytes();
  for (const size_t i : fresh) {
    reads.push_back({nmethods[i].block, block_bytes + layout_.header_bytes()});
  }
  read_ranges(memory, reads, [&](size_t i, std::span<const std::byte> bytes) {
    const Nmethod& nmethod = nmethods[fresh[i]];
    const auto again = layout_.decode_nmethod(nmethod.blob, bytes.subspan(block_bytes));
    unchanged[i] = heaps_.used(bytes) && again && same(nmethod.header, *again);
  });
  for (size_t i = 0; i < fresh.size(); ++i) {
    const Nmethod& nmethod = nmethods[fresh[i]];
    if (unchanged[i] && infos[i]) {
      known_.insert_or_assign(
          nmethod.blob.blob,
          Known{nmethod.header.compile_id, nmethod.header.method, std::move(*infos[i]), true});
      continue;
    }
    ++torn;
    diagnostics.note(
        unchanged[i] ? kTornName : kTornHeader,
        fmt::format("{:#x}, compile id {}", nmethod.blob.code_begin, nmethod.header.compile_id));
  }
  for (Nmethod& nmethod : nmethods) {
    const auto found = known_.find(nmethod.blob.blob);
    if (found != known_.end()) nmethod.info = &found->second.info;
  }
  std::erase_if(nmethods, [](const Nmethod& nmethod) { return nmethod.info == nullptr; });
}

void HotspotReader::read_entry_bytes(MemoryReader& memory, std::vector<Nmethod>& nmethods) const {
  std::vector<ByteRange> reads;
  for (const Nmethod& nmethod : nmethods) reads.push_back({nmethod.header.entry, kEntryBytes});
  read_ranges(memory, reads, [&](size_t i, std::span<const std::byte> bytes) {
    nmethods[i].entry_bytes = ByteCursor(bytes).u64();
  });
}

Status HotspotReader::check_entries(const std::vector<Nmethod>& nmethods) {
  if (convention_ != CallConvention::hotspot_x86_64) return {};
  size_t judged = 0;
  size_t usual = 0;
  for (const Nmethod& nmethod : nmethods) {
    if (nmethod.header.state != NmethodState::in_use || nmethod.header.osr() ||
        nmethod.info->is_native() || !nmethod.entry_bytes) {
      continue;
    }
    ++judged;
    if (machine::is_hotspot_entry(bytes_of(*nmethod.entry_bytes))) ++usual;
  }
  if (judged < kEnoughToJudge) return {};
  entries_checked_ = usual * 2 >= judged;
  if (entries_checked_) return {};
  return fail(ErrorKind::not_possible,
              fmt::format("the verified entries that this JVM describes are no method entries "
                          "({} of {} begin as expected)",
                          usual, judged),
              {}, "its perf map can be used (jcmd PID Compiler.perfmap)");
}

CodeBody HotspotReader::body_of(const Nmethod& nmethod) const {
  const NmethodHeader& header = nmethod.header;
  const MethodInfo& info = *nmethod.info;
  CodeBody body;
  body.address = nmethod.blob.code_begin;
  body.size = nmethod.blob.code_end - nmethod.blob.code_begin;
  body.entry = header.entry;
  body.name = info.name;
  body.parameters = info.parameters;
  body.tier = tier_of(header, info);
  body.osr = header.osr();
  body.source = SourceKind::hotspot_memory;
  body.version = header.compile_id;
  body.convention = convention_;
  body.frame_bytes = nmethod.blob.frame_bytes;

  if (only_places_) return body;

  // The JVM patches the entry before it sets the state (nmethod::make_not_entrant), with a jump to
  // a stub in the code cache; a jump out of the code cache is a probe's and says nothing. Without a
  // live entry (aarch64 patches other bytes) the state alone tells.
  const uint64_t target =
      convention_ == CallConvention::hotspot_x86_64 && !header.osr() && nmethod.entry_bytes
          ? machine::jump_target(header.entry, bytes_of(*nmethod.entry_bytes))
          : 0;
  const bool patched = target >= heaps_low_ && target < heaps_high_;
  switch (header.state) {
    case NmethodState::in_use:
      body.state = patched ? BodyState::not_entrant : BodyState::in_use;
      break;
    case NmethodState::not_entrant:
      body.state = BodyState::not_entrant;
      break;
    case NmethodState::not_installed:
      body.state = BodyState::unknown;
      break;
    case NmethodState::dead:
      body.state = BodyState::dead;
      break;
  }
  if (info.method_handle_intrinsic) {
    body.not_probeable = "method handle intrinsic";
  } else if (body.osr) {
    body.not_probeable = "OSR body";
  } else if (header.state == NmethodState::not_installed) {
    body.not_probeable = "not installed yet";
  } else if (body.state != BodyState::in_use) {
    body.not_probeable = "not entrant";
  }

  const auto check = [&](FieldRef field, uint64_t value) {
    body.identity.push_back({nmethod.blob.blob + field.offset, little_endian(value, field.width)});
  };
  body.identity.reserve(3);
  check(layout_.compile_id_field(), header.compile_id);
  check(layout_.state_field(), header.raw_state);
  check(layout_.method_field(), header.method);
  return body;
}

Result<Snapshot> HotspotReader::read(MemoryReader& memory, Diagnostics& diagnostics) {
  Snapshot snapshot;
  std::vector<Nmethod> nmethods;
  std::vector<Stub> stubs;
  JITSCOPE_TRY(read_blocks(memory, diagnostics, nmethods, stubs, snapshot.torn));
  // What is missing because there was no time for it must not look as if it were gone.
  if (WorkLimit::over()) return fail(took_too_long());
  read_names(memory, diagnostics, nmethods, snapshot.torn);
  if (WorkLimit::over()) return fail(took_too_long());
  if (!only_places_ || !entries_checked_) {
    read_entry_bytes(memory, nmethods);
    JITSCOPE_TRY(check_entries(nmethods));
  }

  snapshot.bodies.reserve(nmethods.size() + stubs.size());
  for (const Nmethod& nmethod : nmethods) snapshot.bodies.push_back(body_of(nmethod));
  constexpr size_t kMaxStubNames = 4096;  // real JVMs have about 100
  if (stub_names_.size() > kMaxStubNames) stub_names_.clear();
  for (const Stub& stub : stubs) {
    if (stub.blob.code_end == stub.blob.code_begin) continue;
    auto& name = stub_names_[stub.name];
    if (!name) {
      MethodName made;
      made.function = stub.name;
      made.raw = stub.name;
      name = std::make_shared<const MethodName>(std::move(made));
    }
    CodeBody body;
    body.address = stub.blob.code_begin;
    body.size = stub.blob.code_end - stub.blob.code_begin;
    body.name = name;
    body.tier = Tier::stub;
    body.state = BodyState::in_use;
    body.source = SourceKind::hotspot_memory;
    body.not_probeable = "runtime stub";
    snapshot.bodies.push_back(std::move(body));
  }
  std::ranges::sort(snapshot.bodies, {}, &CodeBody::address);
  remember(nmethods, stubs);
  return snapshot;
}

Result<std::vector<std::shared_ptr<const MethodName>>> HotspotReader::loaded_methods(
    MemoryReader& memory, Diagnostics& diagnostics) const {
  std::vector<std::shared_ptr<const MethodName>> result;
  if (!classes_) return result;
  JITSCOPE_ASSIGN(const std::vector<ClassMethods> classes, classes_->read(memory, diagnostics));
  std::vector<uint64_t> methods;
  for (const ClassMethods& entry : classes) {
    methods.insert(methods.end(), entry.methods.begin(), entry.methods.end());
  }
  const auto infos = names_.read(memory, methods);
  if (WorkLimit::over()) return fail(took_too_long());
  // A class that was unloaded or redefined meanwhile may have given the names of another.
  const std::vector<bool> unchanged = classes_->unchanged(memory, classes);
  size_t at = 0;
  for (size_t i = 0; i < classes.size(); ++i) {
    for (size_t k = 0; k < classes[i].methods.size(); ++k, ++at) {
      if (unchanged[i] && infos[at] && infos[at]->holder == classes[i].klass) {
        result.push_back(infos[at]->name);
      } else {
        diagnostics.note("loaded method not readable", fmt::format("Method {:#x}", methods[at]));
      }
    }
  }
  return result;
}

}  // namespace jitscope::hotspot
