// Finding and reading node::per_process::metadata; see node_version.h. libelf reads the file (it is
// not mapped: a file that shrinks would raise SIGBUS) and only the parts that are asked for.
#include "runtimes/v8/node_version.h"

#include <gelf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/byte_cursor.h"
#include "base/open_file.h"

namespace jitscope {
namespace {

constexpr std::string_view kSymbol = "_ZN4node11per_process8metadataE";
constexpr size_t kLongestVersion = 40;
constexpr uint64_t kMostTableBytes = uint64_t{256} << 20U;
constexpr uint64_t kMostElfBytes = uint64_t{2} << 30U;  // a browser with its debug information

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfPtr = std::unique_ptr<Elf, ElfEnd>;

// Value of the symbol in a symbol table section, as linked.
std::optional<uint64_t> find_in(Elf* elf, Elf_Scn* section, const GElf_Shdr& header) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return std::nullopt;
  const size_t count = std::min(header.sh_size / header.sh_entsize, uint64_t{4} << 20U);
  for (size_t i = 0; i < count; ++i) {
    GElf_Sym symbol{};
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    if (symbol.st_value == 0 || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr && kSymbol == name) return symbol.st_value;
  }
  return std::nullopt;
}

// What to add to linked addresses when the lowest PT_LOAD lies at `base`.
std::optional<uint64_t> load_bias(Elf* elf, uint64_t base) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return std::nullopt;
  for (size_t i = 0; i < std::min(count, size_t{256}); ++i) {
    GElf_Phdr header{};
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) return std::nullopt;
    if (header.p_type == PT_LOAD) return base - (header.p_vaddr & ~uint64_t{4095});
  }
  return std::nullopt;
}

std::optional<uint64_t> metadata_address(const std::string& root, const std::string& path,
                                         uint64_t base) {
  const auto file = open_regular_file(path, root);
  if (!file || !why_too_large(file->status, kMostElfBytes).empty()) return std::nullopt;
  if (elf_version(EV_CURRENT) == EV_NONE) return std::nullopt;
  const ElfPtr elf(elf_begin(file->fd.get(), ELF_C_READ, nullptr));
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF) return std::nullopt;
  const auto bias = load_bias(elf.get(), base);
  if (!bias) return std::nullopt;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header{};
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    if (header.sh_size > kMostTableBytes) continue;
    if (const auto value = find_in(elf.get(), section, header)) return *value + *bias;
  }
  return std::nullopt;
}

// "20.20.2", "23.0.0-nightly2024...": digits, two dots, then what versions are made of.
bool looks_like_version(std::string_view text) {
  const auto digits = [&text] {
    size_t count = 0;
    while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
    text.remove_prefix(count);
    return count > 0 && count < 5;
  };
  const auto dot = [&text] {
    if (!text.starts_with('.')) return false;
    text.remove_prefix(1);
    return true;
  };
  if (!digits() || !dot() || !digits() || !dot() || !digits()) return false;
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '+';
  });
}

}  // namespace

std::string read_version_string(MemoryReader& memory, uint64_t address) {
  std::array<std::byte, 32> object{};
  if (!memory.read(address, object)) return {};
  // libc++: a short string lies in the object, its length doubled in the first byte.
  const auto head = std::to_integer<uint8_t>(object[0]);
  if (head % 2 == 0 && head / 2 > 0 && head / 2 < 23) {
    const std::string_view inside(reinterpret_cast<const char*>(object.data()) + 1, head / 2U);
    if (looks_like_version(inside)) return std::string(inside);
  }
  // libstdc++: pointer, length; short ones point into the object.
  ByteCursor cursor(object);
  const uint64_t pointer = cursor.u64();
  const uint64_t length = cursor.u64();
  if (length == 0 || length > kLongestVersion) return {};
  std::string text(length, '\0');
  if (!memory.read(pointer, std::as_writable_bytes(std::span(text)))) return {};
  return looks_like_version(text) ? text : std::string();
}

std::string node_version(const Process& process, const std::string& root,
                         const std::string& elf_path, uint64_t base) {
  const auto address = metadata_address(root, elf_path, base);
  return address ? read_version_string(process.memory(), *address) : std::string();
}

}  // namespace jitscope
