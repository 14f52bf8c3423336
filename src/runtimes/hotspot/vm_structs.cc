// Reads HotSpot's self-description (see vm_structs.h). The tables hold some 2,000 entries with
// three strings each, all in libjvm's read-only data, so memory is fetched in pages that are kept
// for the time of the parsing: a few hundred reads instead of thousands.
#include "runtimes/hotspot/vm_structs.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/byte_cursor.h"
#include "base/page.h"

namespace jitscope::hotspot {
namespace {

constexpr size_t kMaxPages = 4096;        // 16 MiB of tables and strings; real JVMs need 0.5
constexpr uint64_t kMaxEntries = 20'000;  // a real table has about 2,000
constexpr size_t kMaxString = 512;
constexpr uint64_t kMaxStride = 512;
constexpr uint64_t kMaxStructOffset = 1U << 16U;

// Pages of the target that do not change, each read once.
class PageCache {
 public:
  explicit PageCache(MemoryReader& memory) : memory_(memory) {}

  Status read(uint64_t address, std::span<std::byte> out) {
    while (!out.empty()) {
      JITSCOPE_ASSIGN(const std::byte* page, fetch(address & ~(kPage - 1)));
      const uint64_t at = address & (kPage - 1);
      const size_t take = std::min<size_t>(out.size(), kPage - at);
      std::memcpy(out.data(), page + at, take);
      out = out.subspan(take);
      address += take;
    }
    return {};
  }

  Result<std::string> c_string(uint64_t address) {
    std::string text;
    while (text.size() < kMaxString) {
      JITSCOPE_ASSIGN(const std::byte* page, fetch(address & ~(kPage - 1)));
      const uint64_t at = address & (kPage - 1);
      const size_t reach = std::min<size_t>(kPage - at, kMaxString - text.size());
      const auto* start = reinterpret_cast<const char*>(page + at);
      const size_t length = strnlen(start, reach);
      text.append(start, length);
      if (length < reach) return text;
      address += length;
    }
    return fail(ErrorKind::damaged, "a name in HotSpot's structure tables has no end",
                fmt::format("{:#x}", address));
  }

 private:
  Result<const std::byte*> fetch(uint64_t page) {
    if (const auto found = pages_.find(page); found != pages_.end()) return found->second.data();
    if (pages_.size() >= kMaxPages) {
      return fail(ErrorKind::damaged, "HotSpot's structure tables are larger than any known JVM's");
    }
    std::vector<std::byte> bytes(kPage);
    JITSCOPE_TRY(memory_.read(page, bytes));
    return pages_.emplace(page, std::move(bytes)).first->second.data();
  }

  MemoryReader& memory_;
  std::unordered_map<uint64_t, std::vector<std::byte>> pages_;
};

}  // namespace

class VmStructsParser {
 public:
  VmStructsParser(MemoryReader& memory, const SymbolLookup& symbol)
      : pages_(memory), symbol_(symbol) {}

  Result<VmStructs> parse() {
    VmStructs result;
    JITSCOPE_TRY(parse_fields(result));
    JITSCOPE_TRY(parse_types(result));
    JITSCOPE_TRY(parse_constants(result));
    if (result.fields_.empty() || result.types_.empty()) {
      return fail(ErrorKind::damaged, "HotSpot's structure tables are empty", {},
                  "the libjvm file may not be the one that the process runs");
    }
    return result;
  }

 private:
  // The value of one of the exported 64-bit variables.
  Result<uint64_t> variable(std::string_view suffix) {
    const std::string name = fmt::format("gHotSpotVM{}", suffix);
    const auto address = symbol_(name);
    if (!address) {
      return fail(
          ErrorKind::not_possible, fmt::format("libjvm does not export {}", name), {},
          "this JVM cannot be read from outside; its perf map can (jcmd PID Compiler.perfmap)");
    }
    return u64(*address);
  }

  Result<uint64_t> u64(uint64_t address) {
    std::array<std::byte, 8> bytes{};
    JITSCOPE_TRY(pages_.read(address, bytes));
    return ByteCursor(bytes).u64();
  }
  Result<uint32_t> u32(uint64_t address) {
    std::array<std::byte, 4> bytes{};
    JITSCOPE_TRY(pages_.read(address, bytes));
    return ByteCursor(bytes).u32();
  }

  // Calls `entry` with the address of each entry until the one whose name pointer is null.
  template <typename Function>
  Status each_entry(std::string_view table, std::string_view kind, std::string_view name_field,
                    Function&& entry) {
    JITSCOPE_ASSIGN(const uint64_t start, variable(table));
    JITSCOPE_ASSIGN(const uint64_t stride, variable(fmt::format("{}EntryArrayStride", kind)));
    JITSCOPE_ASSIGN(const uint64_t name_at, variable(fmt::format("{}Entry{}", kind, name_field)));
    // The strides are set by libjvm's initialisers, when its pages have long been mapped.
    if (start == 0 || stride == 0) {
      return fail(ErrorKind::not_possible, "the JVM has not set up its structure tables yet", {},
                  "it is still starting; try again");
    }
    if (stride < 8 || stride > kMaxStride || name_at > stride) {
      return fail(
          ErrorKind::damaged,
          fmt::format("HotSpot's table {} makes no sense (address {:#x}, {} bytes an entry)", table,
                      start, stride),
          {}, "the libjvm file may not be the one that the process runs");
    }
    uint64_t address = start;
    for (uint64_t i = 0; i < kMaxEntries; ++i, address += stride) {
      JITSCOPE_ASSIGN(const uint64_t name, u64(address + name_at));
      if (name == 0) return {};
      JITSCOPE_ASSIGN(std::string text, pages_.c_string(name));
      JITSCOPE_TRY(entry(address, std::move(text)));
    }
    return fail(ErrorKind::damaged, fmt::format("HotSpot's table {} has no end", table));
  }

  // Offsets inside an entry, given by the JVM; bounded so that the sums cannot wrap.
  Result<uint64_t> entry_offset(std::string_view name) {
    JITSCOPE_ASSIGN(const uint64_t offset, variable(name));
    if (offset > kMaxStride) {
      return fail(ErrorKind::damaged, fmt::format("gHotSpotVM{} is {}", name, offset));
    }
    return offset;
  }

  Status parse_fields(VmStructs& result) {
    JITSCOPE_ASSIGN(const uint64_t field_at, entry_offset("StructEntryFieldNameOffset"));
    JITSCOPE_ASSIGN(const uint64_t type_at, entry_offset("StructEntryTypeStringOffset"));
    JITSCOPE_ASSIGN(const uint64_t static_at, entry_offset("StructEntryIsStaticOffset"));
    JITSCOPE_ASSIGN(const uint64_t offset_at, entry_offset("StructEntryOffsetOffset"));
    JITSCOPE_ASSIGN(const uint64_t address_at, entry_offset("StructEntryAddressOffset"));
    return each_entry("Structs", "Struct", "TypeNameOffset",
                      [&](uint64_t entry, const std::string& type) -> Status {
                        JITSCOPE_ASSIGN(const uint64_t name, u64(entry + field_at));
                        if (name == 0) return {};
                        JITSCOPE_ASSIGN(const std::string field_name, pages_.c_string(name));
                        VmField field;
                        JITSCOPE_ASSIGN(const uint64_t spelling, u64(entry + type_at));
                        if (spelling != 0) {
                          JITSCOPE_ASSIGN(field.type, pages_.c_string(spelling));
                        }
                        JITSCOPE_ASSIGN(const uint32_t is_static, u32(entry + static_at));
                        field.is_static = is_static != 0;
                        JITSCOPE_ASSIGN(field.offset, u64(entry + offset_at));
                        JITSCOPE_ASSIGN(field.address, u64(entry + address_at));
                        // The first entry counts: some tables repeat a field for each
                        // configuration.
                        result.fields_.try_emplace(type + "::" + field_name, std::move(field));
                        return {};
                      });
  }

  Status parse_types(VmStructs& result) {
    JITSCOPE_ASSIGN(const uint64_t size_at, entry_offset("TypeEntrySizeOffset"));
    JITSCOPE_ASSIGN(const uint64_t unsigned_at, entry_offset("TypeEntryIsUnsignedOffset"));
    return each_entry("Types", "Type", "TypeNameOffset",
                      [&](uint64_t entry, std::string type) -> Status {
                        VmStructs::TypeInfo info;
                        JITSCOPE_ASSIGN(info.size, u64(entry + size_at));
                        JITSCOPE_ASSIGN(const uint32_t is_unsigned, u32(entry + unsigned_at));
                        info.is_unsigned = is_unsigned != 0;
                        result.types_.try_emplace(std::move(type), info);
                        return {};
                      });
  }

  Status parse_constants(VmStructs& result) {
    JITSCOPE_ASSIGN(const uint64_t int_at, entry_offset("IntConstantEntryValueOffset"));
    JITSCOPE_TRY(each_entry("IntConstants", "IntConstant", "NameOffset",
                            [&](uint64_t entry, std::string name) -> Status {
                              JITSCOPE_ASSIGN(const uint32_t value, u32(entry + int_at));
                              result.int_constants_.try_emplace(std::move(name),
                                                                static_cast<int32_t>(value));
                              return {};
                            }));
    JITSCOPE_ASSIGN(const uint64_t long_at, entry_offset("LongConstantEntryValueOffset"));
    return each_entry("LongConstants", "LongConstant", "NameOffset",
                      [&](uint64_t entry, std::string name) -> Status {
                        JITSCOPE_ASSIGN(const uint64_t value, u64(entry + long_at));
                        result.long_constants_.try_emplace(std::move(name), value);
                        return {};
                      });
  }

  PageCache pages_;
  const SymbolLookup& symbol_;
};

Result<VmStructs> VmStructs::read(MemoryReader& memory, const SymbolLookup& symbol) {
  return VmStructsParser(memory, symbol).parse();
}

const VmField* VmStructs::find(std::string_view type, std::string_view field) const {
  const auto found = fields_.find(fmt::format("{}::{}", type, field));
  return found == fields_.end() ? nullptr : &found->second;
}

std::optional<FieldRef> VmStructs::as_reference(const VmField& field) const {
  if (field.is_static || field.offset > kMaxStructOffset) return std::nullopt;
  std::string_view type = field.type;
  for (const std::string_view qualifier : {"volatile ", "const "}) {
    if (type.starts_with(qualifier) && !type.ends_with('*')) type.remove_prefix(qualifier.size());
  }
  const auto offset = static_cast<uint32_t>(field.offset);
  if (type.ends_with('*') || type == "address") return FieldRef{offset, 8, false};
  if (type == "int" || type == "jint" || type == "int32_t") return FieldRef{offset, 4, true};
  if (type == "signed char") return FieldRef{offset, 1, true};
  if (type == "int16_t" || type == "jshort") return FieldRef{offset, 2, true};
  if (type == "unsigned int") return FieldRef{offset, 4, false};
  const auto found = types_.find(std::string(type));
  if (found == types_.end()) return std::nullopt;
  const uint64_t size = found->second.size;
  if (size != 1 && size != 2 && size != 4 && size != 8) return std::nullopt;
  // CompLevel is an enum over a signed byte or int, which the type table does not tell: what may be
  // negative (CompLevel_any is -1) is never a valid value, so unsigned is as good.
  return FieldRef{offset, static_cast<uint8_t>(size), false};
}

std::optional<FieldRef> VmStructs::member_if(std::initializer_list<std::string_view> types,
                                             std::initializer_list<std::string_view> fields) const {
  for (const std::string_view type : types) {
    for (const std::string_view name : fields) {
      const VmField* field = find(type, name);
      if (field == nullptr) continue;
      if (auto reference = as_reference(*field)) return reference;
    }
  }
  return std::nullopt;
}

Result<FieldRef> VmStructs::member(std::initializer_list<std::string_view> types,
                                   std::initializer_list<std::string_view> fields) const {
  if (auto found = member_if(types, fields)) return *found;
  return fail(ErrorKind::not_possible,
              fmt::format("this JVM does not describe {}::{}", *types.begin(), *fields.begin()), {},
              "its layout is not one that can be read from outside; its perf map can be used "
              "(jcmd PID Compiler.perfmap)");
}

Result<uint64_t> VmStructs::static_address(std::string_view type, std::string_view field) const {
  const VmField* found = find(type, field);
  if (found == nullptr || !found->is_static || found->address == 0) {
    return fail(ErrorKind::not_possible,
                fmt::format("this JVM does not describe {}::{}", type, field), {},
                "its layout is not one that can be read from outside; its perf map can be used "
                "(jcmd PID Compiler.perfmap)");
  }
  return found->address;
}

Result<uint64_t> VmStructs::type_size(std::string_view type) const {
  const auto found = types_.find(std::string(type));
  if (found == types_.end()) {
    return fail(ErrorKind::not_possible,
                fmt::format("this JVM does not describe the type {}", type));
  }
  return found->second.size;
}

bool VmStructs::has_type(std::string_view type) const {
  return types_.contains(std::string(type));
}

std::optional<int64_t> VmStructs::int_constant(std::string_view name) const {
  const auto found = int_constants_.find(std::string(name));
  if (found == int_constants_.end()) return std::nullopt;
  return found->second;
}

std::optional<uint64_t> VmStructs::long_constant(std::string_view name) const {
  const auto found = long_constants_.find(std::string(name));
  if (found == long_constants_.end()) return std::nullopt;
  return found->second;
}

uint64_t StructView::get(FieldRef field) {
  if (!ok_) return 0;
  ByteCursor cursor(bytes_);
  cursor.seek(field.offset);
  uint64_t value = 0;
  switch (field.width) {
    case 1:
      value = field.is_signed ? static_cast<uint64_t>(cursor.i8()) : cursor.u8();
      break;
    case 2:
      value = field.is_signed ? static_cast<uint64_t>(cursor.i16()) : cursor.u16();
      break;
    case 4:
      value = field.is_signed ? static_cast<uint64_t>(cursor.i32()) : cursor.u32();
      break;
    case 8:
      value = cursor.u64();
      break;
    default:
      cursor.mark_failed();
      break;
  }
  ok_ = cursor.ok();
  return value;
}

Result<uint64_t> read_u64(MemoryReader& memory, uint64_t address) {
  std::array<std::byte, 8> bytes{};
  JITSCOPE_TRY(memory.read(address, bytes));
  return ByteCursor(bytes).u64();
}

}  // namespace jitscope::hotspot
