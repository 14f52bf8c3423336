#include "symbolize/elf_symbols.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <memory>

#include "base/unique_fd.h"

// The demangler of libstdc++ that hands its text over piece by piece (libiberty, cp-demangle.c): all
// its memory is on the stack, so that it may be left by longjmp.
extern "C" int __gcclibcxx_demangle_callback(const char* name,  // NOLINT(bugprone-reserved-identifier)
                                             void (*take)(const char*, size_t, void*), void* context);

namespace jitscope {
namespace {

// A few hundred bytes of substitutions, each twice the one before, stand for gigabytes of text.
struct Readable {
  static constexpr size_t most = 64U << 10U;
  std::jmp_buf too_long;
  std::string text;
};

void take_piece(const char* piece, size_t length, void* context) {
  auto* readable = static_cast<Readable*>(context);
  if (length > Readable::most - readable->text.size()) std::longjmp(readable->too_long, 1);
  readable->text.append(piece, length);
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
    const bool better = header.sh_type == SHT_SYMTAB ||
                        (header.sh_type == SHT_DYNSYM && chosen == nullptr);
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
      const uint64_t end = symbol.st_shndx < section_ends.size() ? section_ends[symbol.st_shndx] : 0;
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
  const std::string text(name);
  Readable readable;
  if (setjmp(readable.too_long) != 0) return text;
  const int status = __gcclibcxx_demangle_callback(text.c_str(), take_piece, &readable);
  return status == 0 ? readable.text : text;
}

}  // namespace jitscope
