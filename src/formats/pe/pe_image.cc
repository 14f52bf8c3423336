// See pe_image.h.
#include "formats/pe/pe_image.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace jitscope {
namespace {

constexpr uint16_t kDosMagic = 0x5a4d;  // "MZ"
constexpr uint32_t kPeMagic = 0x4550;   // "PE\0\0"
constexpr uint64_t kPeOffsetAt = 0x3c;  // e_lfanew
constexpr uint16_t kNarrow = 0x10b;     // PE32
constexpr uint16_t kWide = 0x20b;       // PE32+
constexpr size_t kSectionHeader = 40;
constexpr size_t kSectionName = 8;
constexpr size_t kDirectory = 8;
constexpr uint32_t kMostDirectories = 16;
constexpr uint64_t kCoffSymbol = 18;  // bytes
// Or many sections could each have a name as long as the file.
constexpr uint64_t kLongestSectionName = 1024;

struct Machine {
  uint16_t value;
  PeMachine machine;
};
constexpr std::array kMachines = {Machine{0x14c, PeMachine::x86},
                                  Machine{0x8664, PeMachine::x86_64},
                                  Machine{0xaa64, PeMachine::arm64}};
// .NET writes MACHINE ^ SYSTEM for images that were compiled for another system than Windows.
constexpr uint16_t kLinux = 0x7b79;
constexpr std::array<uint16_t, 4> kOtherSystems = {0x4644, 0xadc4, 0x1993, 0x1992};

void read_machine(PeHeaders& out) {
  const auto known = [&](uint16_t system) {
    for (const Machine& each : kMachines) {
      if ((each.value ^ system) != out.machine_value) continue;
      out.machine = each.machine;
      return true;
    }
    return false;
  };
  if (known(0)) return;
  if (known(kLinux)) {
    out.system = PeSystem::linux;
    return;
  }
  out.system = PeSystem::other;
  (void)std::ranges::any_of(kOtherSystems, known);
}

// Up to the first NUL, or all of it.
std::string name_of_header(std::span<const std::byte> bytes) {
  std::string name;
  for (const std::byte each : bytes) {
    if (each == std::byte{0}) break;
    name += static_cast<char>(each);
  }
  return name;
}

}  // namespace

Result<PeHeaders> PeHeaders::parse(std::span<const std::byte> head) {
  ByteCursor cursor(head);
  if (cursor.u16() != kDosMagic) return fail(ErrorKind::damaged, "no PE image");
  cursor.seek(kPeOffsetAt);
  cursor.seek(cursor.u32());
  if (cursor.u32() != kPeMagic) return fail(ErrorKind::damaged, "no PE image");
  PeHeaders out;
  out.machine_value = cursor.u16();
  read_machine(out);
  const uint16_t count = cursor.u16();
  out.time_stamp = cursor.u32();
  out.symbol_table = cursor.u32();
  out.symbol_count = cursor.u32();
  const uint16_t optional_size = cursor.u16();
  cursor.skip(2);  // characteristics
  ByteCursor optional = cursor.slice(optional_size);
  ByteCursor table = cursor.slice(count * kSectionHeader);
  if (!cursor.ok()) return fail(cursor.error("the headers of a PE image"));

  const uint16_t magic = optional.u16();
  if (optional.ok() && magic != kNarrow && magic != kWide) {
    return fail(ErrorKind::damaged, "a PE image of an unknown kind");
  }
  out.wide = magic == kWide;
  optional.seek(out.wide ? 24 : 28);
  out.image_base = out.wide ? optional.u64() : optional.u32();
  out.section_alignment = optional.u32();
  out.file_alignment = optional.u32();
  optional.seek(56);
  out.size_of_image = optional.u32();
  out.size_of_headers = optional.u32();
  optional.seek(out.wide ? 108 : 92);
  const uint32_t directories = std::min(optional.u32(), kMostDirectories);
  if (!optional.ok()) return fail(optional.error("the optional header of a PE image"));
  for (uint32_t i = 0; i < directories && optional.remaining() >= kDirectory; ++i) {
    out.directories_.push_back({optional.u32(), optional.u32()});
  }

  out.sections.reserve(count);
  for (uint16_t i = 0; i < count; ++i) {
    PeSection section;
    section.name = name_of_header(table.bytes(kSectionName));
    if (section.name.starts_with('/')) {
      (void)std::from_chars(section.name.data() + 1, section.name.data() + section.name.size(),
                            section.name_offset);
    }
    section.size = table.u32();
    section.rva = table.u32();
    section.file_size = table.u32();
    section.file_offset = table.u32();
    table.skip(12);
    section.flags = table.u32();
    if (section.file_size != 0) out.by_offset_.push_back(i);
    out.by_rva_.push_back(i);
    out.sections.push_back(section);
  }
  std::ranges::stable_sort(out.by_offset_, {},
                           [&](uint32_t i) { return out.sections[i].file_offset; });
  std::ranges::stable_sort(out.by_rva_, {}, [&](uint32_t i) { return out.sections[i].rva; });
  return out;
}

PeDirectory PeHeaders::directory(PeTable table) const {
  const auto index = static_cast<size_t>(table);
  return index < directories_.size() ? directories_[index] : PeDirectory{};
}

std::optional<uint32_t> PeHeaders::rva_of(uint64_t file_offset) const {
  const auto next = std::ranges::upper_bound(
      by_offset_, file_offset, {}, [&](uint32_t i) { return uint64_t{sections[i].file_offset}; });
  if (next != by_offset_.begin()) {
    const PeSection& section = sections[*std::prev(next)];
    const uint64_t inside = file_offset - section.file_offset;
    if (inside < section.file_size && inside <= UINT32_MAX - section.rva) {
      return static_cast<uint32_t>(section.rva + inside);
    }
  }
  if (file_offset < size_of_headers) return static_cast<uint32_t>(file_offset);
  return std::nullopt;
}

const PeSection* PeHeaders::section_at(uint64_t rva) const {
  const auto next = std::ranges::upper_bound(by_rva_, rva, {},
                                             [&](uint32_t i) { return uint64_t{sections[i].rva}; });
  if (next == by_rva_.begin()) return nullptr;
  const PeSection& section = sections[*std::prev(next)];
  return rva - section.rva < section.mapped() ? &section : nullptr;
}

std::optional<uint64_t> PeHeaders::offset_of(uint64_t rva) const {
  if (const PeSection* section = section_at(rva)) {
    const uint64_t inside = rva - section->rva;
    if (inside >= section->file_size) return std::nullopt;
    return section->file_offset + inside;
  }
  if (rva < size_of_headers) return rva;
  return std::nullopt;
}

Result<PeImage> PeImage::parse(std::span<const std::byte> file) {
  PeImage out;
  JITSCOPE_ASSIGN(out.headers_, PeHeaders::parse(file));
  out.file_ = file;
  return out;
}

std::span<const std::byte> PeImage::from(uint64_t rva) const {
  const auto offset = headers_.offset_of(rva);
  if (!offset || *offset >= file_.size()) return {};
  const PeSection* section = headers_.section_at(rva);
  const uint64_t all = section != nullptr
                           ? std::min(section->mapped(), section->file_size) - (rva - section->rva)
                           : headers_.size_of_headers - rva;
  return file_.subspan(*offset, std::min<uint64_t>(all, file_.size() - *offset));
}

std::span<const std::byte> PeImage::bytes(uint64_t rva, uint64_t size) const {
  const std::span<const std::byte> all = from(rva);
  return size <= all.size() ? all.first(size) : std::span<const std::byte>();
}

std::span<const std::byte> PeImage::symbol_records() const {
  if (headers_.symbol_table == 0 || headers_.symbol_table >= file_.size()) return {};
  const auto there = file_.subspan(headers_.symbol_table);
  return there.first(std::min<uint64_t>(headers_.symbol_count * kCoffSymbol, there.size()));
}

ByteCursor PeImage::string_table() const {
  const uint64_t at = headers_.symbol_table + headers_.symbol_count * kCoffSymbol;
  if (headers_.symbol_table == 0 || at >= file_.size()) return {};
  ByteCursor cursor(file_.subspan(at));
  const uint32_t size = cursor.u32();  // with itself
  return ByteCursor(file_.subspan(at, std::min<uint64_t>(size, file_.size() - at)));
}

std::string_view PeImage::section_name(const PeSection& section) const {
  if (section.name_offset == 0) return section.name;
  ByteCursor strings = string_table();
  strings.seek(section.name_offset);
  const std::string_view name = strings.c_string(kLongestSectionName);
  return strings.ok() ? name : std::string_view(section.name);
}

std::span<const std::byte> PeImage::section_bytes(std::string_view name) const {
  for (const PeSection& section : headers_.sections) {
    if (section_name(section) == name) return from(section.rva);
  }
  return {};
}

}  // namespace jitscope
