#include "symbolize/kernel_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <limits>
#include <utility>

#include "base/byte_cursor.h"
#include "base/unique_fd.h"
#include "process/maps.h"

namespace jitscope {
namespace {

constexpr uint64_t page = 4096;
// Some 15 MB on a kernel with everything built in.
constexpr size_t most_symbols_text = size_t{512} << 20;

enum class Binding : uint8_t { local, global, weak };

struct Entry {
  uint64_t start = 0;
  uint32_t name = 0;  // offset in the text
  uint16_t size = 0;  // of the name
  uint16_t module = 0;
  Binding binding = Binding::local;
  bool counts = false;  // code or data, as perf takes them; not only known by name
};

// Files of /proc and /sys have no size: read until they end.
Result<std::string> read_all(const char* path) {
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(system_error("cannot read", path));
  std::string text;
  std::array<char, size_t{1} << 16> piece;
  while (text.size() < most_symbols_text) {
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(system_error("cannot read", path));
    if (got == 0) break;
    text.append(piece.data(), static_cast<size_t>(got));
  }
  return text;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

size_t leading_underscores(std::string_view name) {
  return std::min(name.find_first_not_of('_'), name.size());
}

}  // namespace

struct KernelSymbols::State {
  void read_line(std::string_view line);
  void finish();
  [[nodiscard]] std::string_view name(const Entry& entry) const {
    return std::string_view(text).substr(entry.name, entry.size);
  }
  [[nodiscard]] bool first_is_better(const Entry& a, uint64_t a_end, const Entry& b,
                                     uint64_t b_end) const;
  uint16_t module_number(std::string_view name);

  std::string text;
  std::vector<std::string> modules = {""};
  size_t last_module = 0;
  std::vector<Entry> entries;  // all of them, in the order of the text

  // Chosen, by address, each with where it ends.
  struct Range {
    uint64_t start = 0;
    uint64_t end = 0;
    uint32_t entry = 0;
  };
  std::vector<Range> ranges;
};

KernelSymbols::KernelSymbols(std::unique_ptr<State> state) : state_(std::move(state)) {}
KernelSymbols::~KernelSymbols() = default;

uint16_t KernelSymbols::State::module_number(std::string_view name) {
  if (modules[last_module] == name) return static_cast<uint16_t>(last_module);
  const auto found = std::ranges::find(modules, name);
  if (found != modules.end()) {
    last_module = static_cast<size_t>(found - modules.begin());
  } else if (modules.size() < 4096) {
    last_module = modules.size();
    modules.emplace_back(name);
  } else {
    last_module = 0;  // no kernel has so many
  }
  return static_cast<uint16_t>(last_module);
}

// "ffffffff81000000 T _text", "ffffffffc0000000 t ext4_find\t[ext4]"
void KernelSymbols::State::read_line(std::string_view line) {
  Entry entry;
  size_t at = 0;
  while (at < line.size() && at < 16) {
    const int value = digit(line[at]);
    if (value < 0) break;
    entry.start = entry.start << 4 | static_cast<uint64_t>(value);
    ++at;
  }
  if (at == 0 || line.size() < at + 4 || line[at] != ' ' || line[at + 2] != ' ') return;
  const char type = line[at + 1];
  std::string_view rest = line.substr(at + 3);
  const size_t tab = rest.find('\t');
  const std::string_view symbol = rest.substr(0, tab);
  if (symbol.empty() || symbol.size() > std::numeric_limits<uint16_t>::max()) return;
  if (tab != rest.npos) {
    std::string_view module = rest.substr(tab + 1);
    if (module.starts_with('[')) module.remove_prefix(1);
    module = module.substr(0, module.find(']'));
    entry.module = module_number(module);
  }
  entry.name = static_cast<uint32_t>(symbol.data() - text.data());
  entry.size = static_cast<uint16_t>(symbol.size());
  const auto upper = static_cast<char>(std::toupper(static_cast<unsigned char>(type)));
  entry.binding = type == 'W' ? Binding::weak : type == upper ? Binding::global : Binding::local;
  // perf's choice; data ends the code before it. $x and the like mark bytes.
  constexpr std::string_view kinds = "TWDB";
  entry.counts = kinds.contains(upper) && symbol[0] != '$';
  entries.push_back(entry);
}

bool KernelSymbols::State::first_is_better(const Entry& a, uint64_t a_end, const Entry& b,
                                           uint64_t b_end) const {
  const bool a_empty = a_end == a.start;
  const bool b_empty = b_end == b.start;
  if (a_empty != b_empty) return b_empty;
  const bool a_weak = a.binding == Binding::weak;
  const bool b_weak = b.binding == Binding::weak;
  if (a_weak != b_weak) return b_weak;
  const bool a_global = a.binding == Binding::global;
  const bool b_global = b.binding == Binding::global;
  if (a_global != b_global) return a_global;
  const auto a_name = name(a);
  const auto b_name = name(b);
  const size_t a_underscores = leading_underscores(a_name);
  const size_t b_underscores = leading_underscores(b_name);
  if (a_underscores != b_underscores) return a_underscores < b_underscores;
  if (a_name.size() != b_name.size()) return a_name.size() > b_name.size();
  return !a_name.starts_with("SyS") && !a_name.starts_with("compat_SyS");
}

void KernelSymbols::State::finish() {
  std::vector<uint32_t> order;
  order.reserve(entries.size());
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (entries[i].counts) order.push_back(i);
  }
  // Sorted already but for modules; those with equal addresses keep the order of the text.
  const auto start = [this](uint32_t i) { return entries[i].start; };
  // Those are few, and behind the others.
  const auto unsorted = std::ranges::is_sorted_until(order, {}, start);
  std::ranges::stable_sort(unsorted, order.end(), {}, start);
  std::ranges::inplace_merge(order, unsorted, {}, start);
  ranges.reserve(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const Entry& entry = entries[order[i]];
    const uint64_t next_page = (entry.start | (page - 1)) + 1;
    uint64_t end = 0;
    if (i + 1 == order.size()) {
      // The last of all: a whole page more.
      end = entry.start % page == 0 ? entry.start + page : next_page + page;
    } else {
      const Entry& next = entries[order[i + 1]];
      // The last of the kernel, or of a module, reaches to the end of the page after it.
      end = next.module == entry.module ? next.start
            : entry.start % page == 0   ? entry.start + page
                                        : next_page + page;
    }
    if (end < entry.start) end = UINT64_MAX;
    if (!ranges.empty() && ranges.back().start == entry.start) {
      Range& kept = ranges.back();
      if (first_is_better(entries[kept.entry], kept.end, entry, end)) continue;
      kept = {entry.start, end, order[i]};
      continue;
    }
    ranges.push_back({entry.start, end, order[i]});
  }
}

Result<std::unique_ptr<KernelSymbols>> KernelSymbols::parse(std::string_view kallsyms) {
  return take(std::string(kallsyms));
}

Result<std::unique_ptr<KernelSymbols>> KernelSymbols::take(std::string kallsyms) {
  constexpr const char* where = "/proc/kallsyms";
  if (kallsyms.size() > most_symbols_text) {
    return fail(ErrorKind::damaged, "is too large for a table of kernel symbols", where);
  }
  auto state = std::make_unique<State>();
  state->text = std::move(kallsyms);
  const std::string_view text = state->text;
  state->entries.reserve(text.size() / 40);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    state->read_line(text.substr(at, end - at));
    at = end + 1;
  }
  if (state->entries.empty()) return fail(ErrorKind::damaged, "holds no kernel symbols", where);
  if (std::ranges::all_of(state->entries, [](const Entry& entry) { return entry.start == 0; })) {
    return fail(ErrorKind::not_permitted, "the addresses of kernel symbols are hidden", where,
                "run as root, or set the sysctl kernel.kptr_restrict to 0");
  }
  state->finish();
  return std::unique_ptr<KernelSymbols>(new KernelSymbols(std::move(state)));
}

Result<std::unique_ptr<KernelSymbols>> KernelSymbols::running() {
  JITSCOPE_ASSIGN(std::string text, read_all("/proc/kallsyms"));
  return take(std::move(text));
}

std::optional<KernelSymbols::Hit> KernelSymbols::at(uint64_t address) const {
  const auto& ranges = state_->ranges;
  const auto after = std::ranges::upper_bound(ranges, address, {}, &State::Range::start);
  if (after == ranges.begin()) return std::nullopt;
  const auto& range = *std::prev(after);
  if (address >= range.end) return std::nullopt;
  const Entry& entry = state_->entries[range.entry];
  return Hit{state_->name(entry), range.start, range.end - range.start,
             state_->modules[entry.module]};
}

std::optional<uint64_t> KernelSymbols::address_of(std::string_view name) const {
  for (const Entry& entry : state_->entries) {
    if (state_->name(entry) == name) return entry.start;
  }
  return std::nullopt;
}

Result<BuildIdBytes> running_kernel_build_id() {
  constexpr const char* path = "/sys/kernel/notes";
  JITSCOPE_ASSIGN(const std::string notes, read_all(path));
  ByteCursor cursor{std::string_view(notes)};
  while (cursor.ok() && !cursor.at_end()) {
    const uint32_t name_size = cursor.u32();
    const uint32_t size = cursor.u32();
    const uint32_t type = cursor.u32();
    const auto name = cursor.bytes(name_size);
    cursor.align(4);
    const auto value = cursor.bytes(size);
    if (cursor.ok() && type == NT_GNU_BUILD_ID && name_size == sizeof(ELF_NOTE_GNU) &&
        std::memcmp(name.data(), ELF_NOTE_GNU, name_size) == 0) {
      return BuildIdBytes(value.begin(), value.end());
    }
    cursor.align(4);
  }
  return fail(ErrorKind::not_found, "the running kernel has no build-id", path);
}

std::vector<std::byte> vdso_image() {
  const uint64_t start = ::getauxval(AT_SYSINFO_EHDR);
  const auto maps = read_maps(::getpid());
  const Mapping* mapping = start != 0 && maps ? find_mapping(*maps, start) : nullptr;
  if (mapping == nullptr || mapping->start != start) return {};
  const auto* bytes = reinterpret_cast<const std::byte*>(start);
  return {bytes, bytes + (mapping->end - mapping->start)};
}

}  // namespace jitscope
