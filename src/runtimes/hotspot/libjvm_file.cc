// Reads libjvm's symbols and notes with libelf; see libjvm_file.h.
#include "runtimes/hotspot/libjvm_file.h"

#include <elf.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <memory>
#include <span>

#include "base/open_file.h"
#include "formats/elf/stap_notes.h"

namespace jitscope::hotspot {
namespace {

constexpr std::string_view kPrefix = "gHotSpotVM";
constexpr uint64_t kPageMask = 4095;
// One with its debug information has some 500 MB; its largest table of symbols some 5.
constexpr uint64_t kMostFileBytes = uint64_t{2} << 30U;
constexpr uint64_t kMostTableBytes = uint64_t{256} << 20U;

struct ElfCloser {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfCloser>;

std::span<const std::byte> section_bytes(Elf_Scn* section) {
  const Elf_Data* data = elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const std::byte*>(data->d_buf), data->d_size};
}

void take_symbols(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, LibjvmFile& file) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const auto count =
      static_cast<int>(std::min<uint64_t>(data->d_size / header.sh_entsize, 4'000'000));
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, i, &symbol) == nullptr) break;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) continue;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (name == nullptr || !std::string_view(name).starts_with(kPrefix)) continue;
    file.symbols.try_emplace(name, symbol.st_value);
  }
}

bool has_load_probes(std::span<const std::byte> notes) {
  bool load = false;
  bool unload = false;
  for (const StapNote& note : parse_stap_notes(notes)) {
    if (note.provider != "hotspot") continue;
    load |= note.name == "compiled__method__load";
    unload |= note.name == "compiled__method__unload";
  }
  return load && unload;
}

}  // namespace

Result<LibjvmFile> LibjvmFile::open(const std::string& path, const std::string& root) {
  JITSCOPE_ASSIGN(const OpenedFile opened, open_regular_file(path, root));
  if (const std::string why = why_too_large(opened.status, kMostFileBytes); !why.empty()) {
    return fail(ErrorKind::damaged, "libjvm " + why, path);
  }
  elf_version(EV_CURRENT);
  const ElfHandle elf(elf_begin(opened.fd.get(), ELF_C_READ, nullptr));
  GElf_Ehdr header;
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || gelf_getehdr(elf.get(), &header) == nullptr) {
    return fail(ErrorKind::damaged, "libjvm is no ELF file", path);
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return fail(ErrorKind::not_possible, "only 64-bit little-endian JVMs can be read", path);
  }
  LibjvmFile file;
  file.path = path;
  file.status = opened.status;
  file.x86_64 = header.e_machine == EM_X86_64;

  size_t segments = 0;
  std::optional<uint64_t> lowest;
  if (elf_getphdrnum(elf.get(), &segments) == 0) {
    for (size_t i = 0; i < std::min<size_t>(segments, 256); ++i) {
      GElf_Phdr segment;
      if (gelf_getphdr(elf.get(), static_cast<int>(i), &segment) == nullptr) break;
      if (segment.p_type == PT_LOAD)
        lowest = std::min(lowest.value_or(UINT64_MAX), segment.p_vaddr);
    }
  }
  if (!lowest) return fail(ErrorKind::damaged, "libjvm has no PT_LOAD", path);
  file.first_address = *lowest & ~kPageMask;

  // The dynamic symbols are enough for every JVM that exports its tables; .symtab helps for builds
  // that hide them.
  size_t names = 0;
  (void)elf_getshdrstrndx(elf.get(), &names);
  for (const uint32_t wanted : {uint32_t{SHT_DYNSYM}, uint32_t{SHT_SYMTAB}, uint32_t{SHT_NOTE}}) {
    if (wanted == SHT_SYMTAB && !file.symbols.empty()) continue;
    for (Elf_Scn* section = elf_nextscn(elf.get(), nullptr); section != nullptr;
         section = elf_nextscn(elf.get(), section)) {
      GElf_Shdr shdr;
      if (gelf_getshdr(section, &shdr) == nullptr || shdr.sh_type != wanted ||
          shdr.sh_size > kMostTableBytes) {
        continue;
      }
      if (wanted != SHT_NOTE) {
        take_symbols(elf.get(), section, shdr, file);
        continue;
      }
      const char* name = elf_strptr(elf.get(), names, shdr.sh_name);
      if (name != nullptr && std::string_view(name) == ".note.stapsdt") {
        file.load_probes |= has_load_probes(section_bytes(section));
      }
    }
  }
  if (file.symbols.empty()) {
    return fail(
        ErrorKind::not_possible, "libjvm exports no description of itself (gHotSpotVMStructs)",
        path, "this JVM cannot be read from outside; its perf map can (jcmd PID Compiler.perfmap)");
  }
  return file;
}

std::optional<uint64_t> LibjvmFile::address(std::string_view symbol, uint64_t base) const {
  const auto found = symbols.find(std::string(symbol));
  if (found == symbols.end() || found->second < first_address) return std::nullopt;
  return base + (found->second - first_address);
}

}  // namespace jitscope::hotspot
