// See exported_symbol.h. libelf reads the file (it is not mapped: a file that shrinks would raise
// SIGBUS) and only the parts that are asked for.
#include "runtimes/common/exported_symbol.h"

#include <gelf.h>

#include <algorithm>
#include <memory>

#include "base/open_file.h"

namespace jitscope {
namespace {

constexpr uint64_t kMostTableBytes = uint64_t{256} << 20U;
constexpr uint64_t kMostElfBytes = uint64_t{2} << 30U;  // a browser with its debug information

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfPtr = std::unique_ptr<Elf, ElfEnd>;

// Value of the symbol in a symbol table section, as linked.
std::optional<uint64_t> find_in(Elf* elf, Elf_Scn* section, const GElf_Shdr& header,
                                std::string_view wanted) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return std::nullopt;
  const size_t count = std::min(header.sh_size / header.sh_entsize, uint64_t{4} << 20U);
  for (size_t i = 0; i < count; ++i) {
    GElf_Sym symbol{};
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    if (symbol.st_value == 0 || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT) continue;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name != nullptr && wanted == name) return symbol.st_value;
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

}  // namespace

std::optional<uint64_t> exported_variable(const std::string& root, const std::string& path,
                                          uint64_t base, std::string_view name) {
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
    if (const auto value = find_in(elf.get(), section, header, name)) return *value + *bias;
  }
  return std::nullopt;
}

}  // namespace jitscope
