// The headers of a PE image (.NET ReadyToRun, Wine): machine, sections, data directories, and which
// byte of the file has which address. Format: Microsoft's "PE Format"; the machine of .NET images:
// `IMAGE_FILE_MACHINE_OS_MASK` in dotnet/runtime's pedecoder. No system calls.
//
// Addresses are RVAs: bytes from where the image's header lies in memory. A loader maps each
// section where its header says, not where it lies in the file: the address and the file offset of
// one mapping do not tell the base of the image, the sections do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"
#include "base/result.h"

namespace jitscope {

enum class PeMachine : uint8_t { x86, x86_64, arm64, other };
enum class PeSystem : uint8_t { windows, linux, other };  // .NET marks it in the machine's value

struct PeSection {
  std::string name;          // at most 8 characters
  uint32_t name_offset = 0;  // "/123": the long name's offset in the string table; else 0
  uint32_t rva = 0;
  uint32_t size = 0;  // in memory
  uint32_t file_offset = 0;
  uint32_t file_size = 0;  // 0: not in the file
  uint32_t flags = 0;      // IMAGE_SCN_*

  [[nodiscard]] bool executable() const { return (flags & 0x20000000) != 0; }
  // What a loader maps: bytes beyond `file_size` are zeros.
  [[nodiscard]] uint32_t mapped() const { return size != 0 ? size : file_size; }
};

struct PeDirectory {
  uint32_t rva = 0;
  uint32_t size = 0;  // 0: the image has none
};
// Indexes of PeHeaders::directory().
enum class PeTable : uint8_t { exports = 0, exceptions = 3, debug = 6, cli = 14 };

class PeHeaders {
 public:
  // So many bytes of a file's beginning hold all headers of a usual image.
  static constexpr size_t kHead = 64U << 10U;

  // damaged: no PE image, or its headers do not lie within `head`.
  static Result<PeHeaders> parse(std::span<const std::byte> head);

  PeMachine machine = PeMachine::other;
  PeSystem system = PeSystem::windows;
  uint16_t machine_value = 0;  // as in the file
  bool wide = false;           // PE32+: the format of 64-bit images
  uint32_t time_stamp = 0;     // with size_of_image what Windows' tools know an image by
  uint64_t image_base = 0;     // where the linker thought it would lie; DWARF counts from it
  uint32_t size_of_image = 0;
  uint32_t size_of_headers = 0;
  uint32_t section_alignment = 0;
  uint32_t file_alignment = 0;
  uint32_t symbol_table = 0;  // file offset of the COFF symbols; 0: none
  uint32_t symbol_count = 0;
  std::vector<PeSection> sections;  // as in the file

  [[nodiscard]] PeDirectory directory(PeTable table) const;
  // Nothing for what no section holds: padding, and what is appended to an image.
  [[nodiscard]] std::optional<uint32_t> rva_of(uint64_t file_offset) const;
  // Nothing for what is not in the file.
  [[nodiscard]] std::optional<uint64_t> offset_of(uint64_t rva) const;
  // Null: headers and gaps.
  [[nodiscard]] const PeSection* section_at(uint64_t rva) const;

 private:
  std::vector<PeDirectory> directories_;
  std::vector<uint32_t> by_offset_;  // of sections that are in the file
  std::vector<uint32_t> by_rva_;
};

// Headers and the file's bytes, which must outlive it.
class PeImage {
 public:
  static Result<PeImage> parse(std::span<const std::byte> file);

  [[nodiscard]] const PeHeaders& headers() const { return headers_; }
  [[nodiscard]] std::span<const std::byte> file() const { return file_; }
  // Empty when they are not all in the file, in one section.
  [[nodiscard]] std::span<const std::byte> bytes(uint64_t rva, uint64_t size) const;
  [[nodiscard]] std::span<const std::byte> bytes(PeDirectory at) const {
    return bytes(at.rva, at.size);
  }
  // From there to the end of what the file has of the section; empty when it has nothing.
  [[nodiscard]] std::span<const std::byte> from(uint64_t rva) const;
  // A section by its name, long names included; its bytes as the file has them, at most its size in
  // memory.
  [[nodiscard]] std::span<const std::byte> section_bytes(std::string_view name) const;
  [[nodiscard]] std::string_view section_name(const PeSection& section) const;
  // What the file has of the COFF symbols' records (18 bytes each), and of their string table with
  // its size in front: offsets in it count from there. Empty without.
  [[nodiscard]] std::span<const std::byte> symbol_records() const;
  [[nodiscard]] std::span<const std::byte> symbol_strings() const { return string_table().rest(); }

 private:
  // At its beginning.
  [[nodiscard]] ByteCursor string_table() const;

  PeHeaders headers_;
  std::span<const std::byte> file_;
};

}  // namespace jitscope
