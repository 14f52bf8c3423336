// PE images made in code: headers, sections with any bytes, data directories, COFF symbols.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jitscope::test {

// Little-endian bytes, one after the other.
class LittleBytes {
 public:
  LittleBytes& u8(uint64_t value) { return put(value, 1); }
  LittleBytes& u16(uint64_t value) { return put(value, 2); }
  LittleBytes& u32(uint64_t value) { return put(value, 4); }
  LittleBytes& u64(uint64_t value) { return put(value, 8); }
  LittleBytes& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  LittleBytes& zeros(size_t count) {
    bytes_.append(count, '\0');
    return *this;
  }
  [[nodiscard]] size_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  LittleBytes& put(uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  std::string bytes_;
};

inline void overwrite(std::string& bytes, size_t at, uint64_t value, size_t size) {
  std::memcpy(bytes.data() + at, &value, size);
}

struct PeBuilder {
  struct Section {
    std::string name;
    uint32_t rva = 0;
    std::string data;          // in the file, unpadded
    uint32_t memory_size = 0;  // 0: as in the file
    uint32_t file_offset = 0;  // 0: behind what is before it
    uint32_t flags = 0x60000020;
  };
  struct Directory {
    uint32_t rva = 0;
    uint32_t size = 0;
  };

  static constexpr size_t kPe = 0x80;
  static constexpr size_t kOptional = kPe + 24;
  static constexpr size_t kOptionalSize = 240;
  static constexpr size_t kDirectories = kOptional + 112;
  static constexpr size_t kSections = kOptional + kOptionalSize;

  uint16_t machine = 0x8664;
  uint32_t time_stamp = 0;
  uint64_t image_base = 0x140000000;
  uint32_t size_of_image = 0;  // 0: up to the last section's end
  uint32_t size_of_headers = 0x400;
  uint32_t section_alignment = 0x1000;
  uint32_t file_alignment = 0x200;
  std::vector<Section> sections;
  std::array<Directory, 16> directories{};
  // 18 bytes each, as they are in the file; `strings` without the size in front of it.
  std::string symbols;
  std::string strings;

  struct Symbol {
    std::string_view name;
    uint32_t value = 0;
    int section = 1;
    uint16_t type = 0x20;
    uint8_t storage = 2;
    uint8_t more = 0;  // records that follow, of zeros
  };
  // A record of `symbols`, its name in `strings` when it is long.
  void add_symbol(const Symbol& symbol) {
    LittleBytes record;
    if (symbol.name.size() <= 8) {
      record.text(symbol.name).zeros(8 - symbol.name.size());
    } else {
      record.u32(0).u32(strings.size() + 4);
      strings += symbol.name;
      strings += '\0';
    }
    record.u32(symbol.value).u16(static_cast<uint16_t>(symbol.section)).u16(symbol.type);
    record.u8(symbol.storage).u8(symbol.more).zeros(symbol.more * size_t{18});
    symbols += record.bytes();
  }

  [[nodiscard]] std::string build() const {
    std::string out(size_of_headers, '\0');
    if (out.size() < kSections + 40 * sections.size()) out.resize(kSections + 40 * sections.size());
    out.replace(0, 2, "MZ");
    overwrite(out, 0x3c, kPe, 4);
    out.replace(kPe, 2, "PE");
    overwrite(out, kPe + 4, machine, 2);
    overwrite(out, kPe + 6, sections.size(), 2);
    overwrite(out, kPe + 8, time_stamp, 4);
    overwrite(out, kPe + 20, kOptionalSize, 2);
    overwrite(out, kOptional, 0x20b, 2);
    overwrite(out, kOptional + 24, image_base, 8);
    overwrite(out, kOptional + 32, section_alignment, 4);
    overwrite(out, kOptional + 36, file_alignment, 4);
    overwrite(out, kOptional + 60, size_of_headers, 4);
    overwrite(out, kOptional + 108, directories.size(), 4);
    for (size_t i = 0; i < directories.size(); ++i) {
      overwrite(out, kDirectories + 8 * i, directories[i].rva, 4);
      overwrite(out, kDirectories + 8 * i + 4, directories[i].size, 4);
    }
    uint64_t end = size_of_headers;
    for (size_t i = 0; i < sections.size(); ++i) end = write_section(out, i, end);
    overwrite(out, kOptional + 56, size_of_image != 0 ? size_of_image : end, 4);
    if (!symbols.empty() || !strings.empty()) {
      overwrite(out, kPe + 12, out.size(), 4);
      overwrite(out, kPe + 16, symbols.size() / 18, 4);
      out += symbols;
      LittleBytes size;
      out += size.u32(strings.size() + 4).bytes();
      out += strings;
    }
    return out;
  }

 private:
  // The end of the image so far.
  [[nodiscard]] uint64_t write_section(std::string& out, size_t index, uint64_t end) const {
    const Section& section = sections[index];
    const size_t header = kSections + 40 * index;
    const size_t align = file_alignment != 0 ? file_alignment : 1;
    size_t offset = section.file_offset;
    if (offset == 0) offset = (out.size() + align - 1) / align * align;
    if (out.size() < offset + section.data.size() && !section.data.empty()) {
      out.resize(offset + section.data.size());
    }
    if (!section.data.empty()) out.replace(offset, section.data.size(), section.data);
    const uint64_t memory = section.memory_size != 0 ? section.memory_size : section.data.size();
    std::memcpy(out.data() + header, section.name.data(), std::min<size_t>(section.name.size(), 8));
    overwrite(out, header + 8, memory, 4);
    overwrite(out, header + 12, section.rva, 4);
    overwrite(out, header + 16, section.data.size(), 4);
    overwrite(out, header + 20, section.data.empty() ? 0 : offset, 4);
    overwrite(out, header + 36, section.flags, 4);
    const uint64_t align_memory = section_alignment != 0 ? section_alignment : 1;
    return std::max(end, (section.rva + memory + align_memory - 1) / align_memory * align_memory);
  }
};

}  // namespace jitscope::test
