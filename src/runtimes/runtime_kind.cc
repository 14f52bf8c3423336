// Names of files only suggest: advice is all that hangs on them, and which structures are looked
// for.
#include "runtimes/runtime_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/byte_cursor.h"
#include "base/path.h"
#include "runtimes/all_runtimes.h"

namespace jitscope {

struct RuntimeKind::Entry {
  const RuntimeRow* row = nullptr;
  const RuntimeProgram* program = nullptr;
};

namespace {

constexpr RuntimeProgram kUnknown = {
    .name = "",
    .files = {},
    .how_to_name =
        "have the runtime write a jitdump or a perf map, if it can, or give one with "
        "--jitdump or --perf-map",
};

bool in_word(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

bool begins_with(std::string_view name, std::string_view start) {
  if (start.empty() || !name.starts_with(start)) return false;
  return name.size() == start.size() || !in_word(start.back()) || !in_word(name[start.size()]);
}

// A program or library for Windows, which Wine runs: what its namesake here can be told to do is
// not for it.
bool is_for_windows(std::string_view name) {
  if (name.size() < 4) return false;
  std::string end(name.substr(name.size() - 4));
  for (char& byte : end) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
  }
  return end == ".exe" || end == ".dll";
}

bool is_of(std::string_view name, const RuntimeProgram& program) {
  return std::ranges::any_of(program.files,
                             [&](std::string_view start) { return begins_with(name, start); });
}

std::optional<uint32_t> take_number(std::string_view& text) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = parse_decimal(text.substr(0, end));
  text.remove_prefix(end);
  if (!value || *value > UINT16_MAX) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

// "libruby-3.1.so.3.1.2": 3.1
RuntimeVersion version_in(std::string_view path, const RuntimeProgram& program) {
  std::string_view text =
      program.version_text != nullptr ? program.version_text(path) : base_name(path);
  const size_t digit = text.find_first_of("0123456789");
  if (digit == std::string_view::npos) return {};
  text.remove_prefix(digit);
  RuntimeVersion version;
  const auto first = take_number(text);
  if (!first) return {};
  version.major = *first;
  const bool more = text.size() > 1 && text[0] == '.' && text[1] >= '0' && text[1] <= '9';
  // A single number in a file's name may mean anything.
  if (!more) return program.version_text != nullptr ? version : RuntimeVersion{};
  text.remove_prefix(1);
  version.minor = take_number(text).value_or(0);
  return version;
}

}  // namespace

const std::vector<RuntimeKind::Entry>& RuntimeKind::entries() {
  static std::vector<Entry> all;
  static size_t rows = 0;
  if (rows == all_runtimes().size()) return all;
  rows = all_runtimes().size();
  all.assign(1, {&row_of(Runtime::unknown), &kUnknown});
  for (const RuntimeRow* row : all_runtimes()) {
    for (const RuntimeProgram& program : row->programs) all.push_back({row, &program});
  }
  return all;
}

RuntimeKind::RuntimeKind(Runtime runtime) {
  if (runtime == Runtime::unknown) return;
  const auto found =
      std::ranges::find(entries(), runtime, [](const Entry& entry) { return entry.row->runtime; });
  if (found != entries().end()) entry_ = static_cast<uint8_t>(found - entries().begin());
}

const RuntimeProgram& RuntimeKind::program() const {
  return *entries()[entry_].program;
}

Runtime RuntimeKind::runtime() const {
  return entries()[entry_].row->runtime;
}

bool RuntimeKind::see(std::string_view path) {
  const std::string_view name = base_name(path);
  if (is_for_windows(name)) return false;
  if (entry_ != 0 && version_ == RuntimeVersion{} && is_of(name, program())) {
    // A program without a version in its name may have a library with one.
    version_ = version_in(path, program());
    return false;
  }
  const auto found = std::ranges::find_if(
      entries(), [&](const Entry& entry) { return is_of(name, *entry.program); });
  if (found == entries().end()) return false;
  if (entry_ != 0 && found->program->rank <= program().rank) return false;
  entry_ = static_cast<uint8_t>(found - entries().begin());
  version_ = version_in(path, program());
  return true;
}

RuntimeKind kind_of(const std::vector<Mapping>& maps) {
  RuntimeKind kind;
  for (const Mapping& mapping : maps) {
    if (mapping.executable && mapping.file_backed()) kind.see(mapping.path);
  }
  return kind;
}

bool RuntimeKind::too_old() const {
  return version_ != RuntimeVersion{} && version_ < program().since;
}

std::string_view RuntimeKind::name() const {
  return program().name;
}

std::string RuntimeKind::how_to_name() const {
  const RuntimeProgram& known = program();
  if (too_old()) return std::string(known.older);
  if (known.older_never && version_ == RuntimeVersion{}) {
    return fmt::format("{}; {}", known.how_to_name, known.older);
  }
  return std::string(known.how_to_name);
}

std::string RuntimeKind::how_to_map() const {
  const bool finer = runtime() == Runtime::unknown && entry_ != 0;
  return finer ? how_to_name() : std::string(entries()[entry_].row->how_to_map);
}

bool RuntimeKind::seen_from_outside() const {
  return entries()[entry_].row->open_memory != nullptr;
}

bool RuntimeKind::in_images() const {
  return program().in_images;
}

bool RuntimeKind::hopeless() const {
  return program().never || (program().older_never && too_old());
}

}  // namespace jitscope
