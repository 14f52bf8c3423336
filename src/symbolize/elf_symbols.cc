#include "symbolize/elf_symbols.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/unique_fd.h"

namespace jitscope {
namespace {

struct ElfDeleter {
  void operator()(Elf* elf) const { elf_end(elf); }
};

}  // namespace

Result<ElfSymbols> ElfSymbols::open(const std::string& path) {
  elf_version(EV_CURRENT);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail(system_error("cannot open ELF file", path));
  // ELF_C_READ copies what it reads: a file that shrinks meanwhile raises no SIGBUS.
  const std::unique_ptr<Elf, ElfDeleter> elf(elf_begin(fd.get(), ELF_C_READ, nullptr));
  if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF) {
    return fail(ErrorKind::damaged, "not an ELF file", path);
  }
  ElfSymbols result;
  size_t headers = 0;
  if (elf_getphdrnum(elf.get(), &headers) != 0) headers = 0;
  for (size_t i = 0; i < headers; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf.get(), static_cast<int>(i), &header) == nullptr) continue;
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    result.segments_.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
  }
  Elf_Scn* chosen = nullptr;
  GElf_Shdr chosen_header = {};
  for (Elf_Scn* section = elf_nextscn(elf.get(), nullptr); section != nullptr;
       section = elf_nextscn(elf.get(), section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0) continue;
    const bool better = header.sh_type == SHT_SYMTAB ||
                        (header.sh_type == SHT_DYNSYM && chosen == nullptr);
    if (!better) continue;
    chosen = section;
    chosen_header = header;
  }
  if (chosen == nullptr) return result;
  Elf_Data* data = elf_getdata(chosen, nullptr);
  if (data == nullptr) return result;
  const size_t count = data->d_size / chosen_header.sh_entsize;
  for (size_t i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    const auto type = GELF_ST_TYPE(symbol.st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
    const char* name = elf_strptr(elf.get(), chosen_header.sh_link, symbol.st_name);
    if (name == nullptr || *name == '\0') continue;
    result.symbols_.push_back(
        {symbol.st_value, symbol.st_size, static_cast<uint32_t>(result.names_.size())});
    result.names_ += name;
    result.names_ += '\0';
  }
  std::ranges::stable_sort(result.symbols_, {}, &Symbol::address);
  return result;
}

std::optional<uint64_t> ElfSymbols::address_of_offset(uint64_t file_offset) const {
  for (const Segment& segment : segments_) {
    if (file_offset >= segment.offset && file_offset - segment.offset < segment.size) {
      return segment.address + (file_offset - segment.offset);
    }
  }
  return std::nullopt;
}

std::string ElfSymbols::name_at(uint64_t address) const {
  auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::address);
  // A symbol of size 0 (assembler code) reaches to the next one.
  for (int tries = 0; tries < 8 && after != symbols_.begin(); ++tries) {
    --after;
    if (after->size == 0 || address - after->address < after->size) {
      return demangle(names_.c_str() + after->name);
    }
  }
  return {};
}

std::string demangle(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  int status = 0;
  const std::string text(name);
  const std::unique_ptr<char, void (*)(void*)> readable(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && readable ? std::string(readable.get()) : text;
}

}  // namespace jitscope
