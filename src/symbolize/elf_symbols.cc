#include "symbolize/elf_symbols.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/unique_fd.h"

namespace jitscope {
namespace {

// A few hundred bytes of back references (S1_, T0_), each to something twice as long as the one
// before, stand for gigabytes of text, and the demangler knows no limit. So many give 50 MB at
// worst.
constexpr size_t most_back_references = 36;

size_t back_references(std::string_view name) {
  size_t count = 0;
  for (size_t i = 0; i + 1 < name.size(); ++i) {
    if (name[i] != 'S' && name[i] != 'T') continue;
    const size_t end = name.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", i + 1);
    if (end != name.npos && name[end] == '_') ++count;
  }
  return count;
}

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
  std::vector<uint64_t> section_ends = {0};  // by index
  for (Elf_Scn* section = elf_nextscn(elf.get(), nullptr); section != nullptr;
       section = elf_nextscn(elf.get(), section)) {
    GElf_Shdr header = {};
    const bool readable = gelf_getshdr(section, &header) != nullptr;
    section_ends.push_back(readable ? header.sh_addr + header.sh_size : 0);
    if (!readable || header.sh_entsize == 0) continue;
    const bool better =
        header.sh_type == SHT_SYMTAB || (header.sh_type == SHT_DYNSYM && chosen == nullptr);
    if (!better) continue;
    chosen = section;
    chosen_header = header;
  }
  if (chosen == nullptr) return result;
  Elf_Data* data = elf_getdata(chosen, nullptr);
  Elf_Data* names = elf_getdata(elf_getscn(elf.get(), chosen_header.sh_link), nullptr);
  if (data == nullptr || names == nullptr || names->d_buf == nullptr) return result;
  // The whole table, so that no number of symbols can make more of it than the file has.
  result.names_.assign(static_cast<const char*>(names->d_buf), names->d_size);
  const size_t count = data->d_size / chosen_header.sh_entsize;
  for (size_t i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    const auto type = GELF_ST_TYPE(symbol.st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
    if (symbol.st_name >= result.names_.size() || result.names_[symbol.st_name] == '\0') continue;
    Symbol added{symbol.st_value, symbol.st_size, symbol.st_name, symbol.st_size == 0};
    if (added.open_ended) {
      // Assembler code: to the next symbol, or to the end of its section.
      const uint64_t end =
          symbol.st_shndx < section_ends.size() ? section_ends[symbol.st_shndx] : 0;
      if (end <= added.address) continue;
      added.size = end - added.address;
    }
    result.symbols_.push_back(added);
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
  if (after == symbols_.begin()) return {};
  const uint64_t nearest = std::prev(after)->address;
  for (int tries = 0; tries < 8 && after != symbols_.begin(); ++tries) {
    --after;
    if (after->open_ended && after->address != nearest) continue;
    if (address - after->address < after->size) {
      constexpr size_t longest = 4096;
      const char* name = names_.c_str() + after->name;
      return demangle({name, ::strnlen(name, longest)});
    }
  }
  return {};
}

std::string demangle(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  std::string text(name);
  if (back_references(name) > most_back_references) return text;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || !readable) return std::string(name);
  return {readable.get()};
}

}  // namespace jitscope
