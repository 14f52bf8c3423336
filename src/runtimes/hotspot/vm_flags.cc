// Reads JVM options; see vm_flags.h.
#include "runtimes/hotspot/vm_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/byte_cursor.h"
#include "process/read_ranges.h"

namespace jitscope::hotspot {
namespace {

constexpr uint64_t kMaxFlags = 10'000;  // real JVMs have 1,000 to 2,000
constexpr uint64_t kMaxFlagBytes = 256;
constexpr std::string_view kRelocation = "NMethodRelocation";

// Where a member lies; the type of `_addr` is not told, a pointer it is.
std::optional<FieldRef> pointer_member(const VmStructs& structs, std::string_view type,
                                       std::string_view field) {
  const VmField* found = structs.find(type, field);
  if (found == nullptr || found->is_static || found->offset > kMaxFlagBytes) return std::nullopt;
  return FieldRef{static_cast<uint32_t>(found->offset), 8, false};
}

}  // namespace

Result<std::optional<bool>> read_bool_flag(MemoryReader& memory, const VmStructs& structs,
                                           std::string_view name) {
  const std::string_view type = structs.has_type("JVMFlag") ? "JVMFlag" : "Flag";
  const auto name_field = pointer_member(structs, type, "_name");
  const auto value_field = pointer_member(structs, type, "_addr");
  JITSCOPE_ASSIGN(const uint64_t flags_address, structs.static_address(type, "flags"));
  JITSCOPE_ASSIGN(const uint64_t count_address, structs.static_address(type, "numFlags"));
  JITSCOPE_ASSIGN(const uint64_t size, structs.type_size(type));
  JITSCOPE_ASSIGN(const uint64_t flags, read_u64(memory, flags_address));
  JITSCOPE_ASSIGN(const uint64_t count, read_u64(memory, count_address));
  if (!name_field || !value_field || count == 0 || count > kMaxFlags || size > kMaxFlagBytes ||
      size < std::max(name_field->end(), value_field->end())) {
    return fail(ErrorKind::damaged, fmt::format("the JVM's table of {} options of {} bytes makes "
                                                "no sense",
                                                count, size));
  }
  std::vector<std::byte> table(count * size);
  JITSCOPE_TRY(memory.read(flags, table));
  // With the zero byte at its end, so that a longer name is another one.
  const auto length = static_cast<uint32_t>(name.size() + 1);
  std::vector<ByteRange> names;
  std::vector<uint64_t> values;
  for (uint64_t i = 0; i < count; ++i) {
    StructView flag{std::span<const std::byte>(table).subspan(i * size, size)};
    names.push_back({flag.get(*name_field), length});
    values.push_back(flag.get(*value_field));
  }
  std::optional<uint64_t> found;
  read_ranges(memory, names, [&](size_t i, std::span<const std::byte> bytes) {
    ByteCursor text(bytes);
    if (text.c_string() == name && text.ok()) found = values[i];
  });
  if (!found) return std::optional<bool>();
  std::array<std::byte, 1> value{};
  JITSCOPE_TRY(memory.read(*found, value));
  return std::optional(value[0] != std::byte{0});
}

std::string why_code_may_move(MemoryReader& memory, const VmStructs& structs,
                              bool options_are_set) {
  if (structs.find("nmethod", "_immutable_data_ref_count_offset") == nullptr) return {};
  if (!options_are_set) {
    return fmt::format(
        "this JVM can move compiled code, and it is still starting: whether -XX:+{} "
        "is on is not known yet",
        kRelocation);
  }
  const auto moves = read_bool_flag(memory, structs, kRelocation);
  if (moves && *moves == false) return {};
  if (!moves || !*moves) {
    return fmt::format("this JVM can move compiled code, and whether -XX:+{} is on is not known",
                       kRelocation);
  }
  return fmt::format("the JVM moves compiled code (-XX:+{})", kRelocation);
}

}  // namespace jitscope::hotspot
