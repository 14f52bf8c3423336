// Reads a code image by libelf and libdw alone, as a profiler does: symbols, code, the chain of
// functions and lines of an address, call frame information. Shares nothing with the writer.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace jitscope::fuzz {

class CodeImageReader {
 public:
  struct Symbol {
    std::string name;
    uint64_t value = 0;
    uint64_t size = 0;
    unsigned type = 0;
    unsigned binding = 0;
    size_t section = 0;
  };
  struct Frame {
    std::string function;
    std::string file;  // "": none
    int line = 0;
    bool operator==(const Frame&) const = default;
  };

  explicit CodeImageReader(int fd) {
    elf_version(EV_CURRENT);
    elf_.reset(elf_begin(fd, ELF_C_READ, nullptr));
    if (elf_) dwarf_.reset(dwarf_begin_elf(elf_.get(), DWARF_C_READ, nullptr));
  }

  [[nodiscard]] Elf* elf() const { return elf_.get(); }
  [[nodiscard]] Dwarf* dwarf() const { return dwarf_.get(); }

  [[nodiscard]] std::vector<GElf_Phdr> segments() const {
    std::vector<GElf_Phdr> all;
    size_t count = 0;
    if (elf_getphdrnum(elf_.get(), &count) != 0) return all;
    for (size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf_.get(), static_cast<int>(i), &header) != nullptr) all.push_back(header);
    }
    return all;
  }

  [[nodiscard]] Elf_Scn* section(std::string_view wanted, GElf_Shdr& header) const {
    size_t names = 0;
    if (elf_getshdrstrndx(elf_.get(), &names) != 0) return nullptr;
    for (Elf_Scn* at = elf_nextscn(elf_.get(), nullptr); at != nullptr;
         at = elf_nextscn(elf_.get(), at)) {
      if (gelf_getshdr(at, &header) == nullptr) return nullptr;
      const char* name = elf_strptr(elf_.get(), names, header.sh_name);
      if (name != nullptr && name == wanted) return at;
    }
    return nullptr;
  }

  [[nodiscard]] std::vector<Symbol> symbols() const {
    std::vector<Symbol> all;
    GElf_Shdr header;
    Elf_Scn* table = section(".symtab", header);
    if (table == nullptr) return all;
    Elf_Data* data = elf_getdata(table, nullptr);
    for (size_t i = 1; data != nullptr && i < header.sh_size / header.sh_entsize; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
      const char* name = elf_strptr(elf_.get(), header.sh_link, symbol.st_name);
      all.push_back({name == nullptr ? "(none)" : name, symbol.st_value, symbol.st_size,
                     static_cast<unsigned>(GELF_ST_TYPE(symbol.st_info)),
                     static_cast<unsigned>(GELF_ST_BIND(symbol.st_info)), symbol.st_shndx});
    }
    return all;
  }

  // The bytes at an address by way of the section that a symbol names; nothing: the section has
  // none.
  [[nodiscard]] std::optional<std::vector<std::byte>> code(const Symbol& symbol) const {
    Elf_Scn* at = elf_getscn(elf_.get(), symbol.section);
    GElf_Shdr header;
    if (at == nullptr || gelf_getshdr(at, &header) == nullptr) return std::nullopt;
    if (header.sh_type == SHT_NOBITS || (header.sh_flags & SHF_EXECINSTR) == 0) return std::nullopt;
    Elf_Data* data = elf_rawdata(at, nullptr);
    if (data == nullptr || symbol.value < header.sh_addr ||
        symbol.value - header.sh_addr > data->d_size ||
        symbol.size > data->d_size - (symbol.value - header.sh_addr)) {
      return std::nullopt;
    }
    const auto* from = static_cast<const std::byte*>(data->d_buf) + (symbol.value - header.sh_addr);
    return std::vector<std::byte>(from, from + symbol.size);
  }

  [[nodiscard]] std::vector<std::byte> build_id() const {
    for (const GElf_Phdr& segment : segments()) {
      if (segment.p_type != PT_NOTE) continue;
      Elf_Data* data = elf_getdata_rawchunk(elf_.get(), static_cast<int64_t>(segment.p_offset),
                                            segment.p_filesz, ELF_T_NHDR);
      GElf_Nhdr note;
      size_t name = 0;
      size_t text = 0;
      if (data == nullptr || gelf_getnote(data, 0, &note, &name, &text) == 0) continue;
      if (note.n_type != NT_GNU_BUILD_ID) continue;
      const auto* from = static_cast<const std::byte*>(data->d_buf) + text;
      return {from, from + note.n_descsz};
    }
    return {};
  }

  // The functions at an address, innermost first, each with the place it stands at. Empty: no
  // function is known there.
  [[nodiscard]] std::vector<Frame> frames(uint64_t address) const {
    std::vector<Frame> chain;
    Dwarf_Die unit;
    if (dwarf_addrdie(dwarf_.get(), address, &unit) == nullptr) return chain;
    Frame place;
    if (Dwarf_Line* line = dwarf_getsrc_die(&unit, address)) {
      dwarf_lineno(line, &place.line);
      const char* file = dwarf_linesrc(line, nullptr, nullptr);
      place.file = file == nullptr ? "" : file;
    }
    // From the outside in; dwarf_getscopes() would go from an inlined call to where its method was
    // declared, not to its caller.
    std::vector<Dwarf_Die> calls;
    for (Dwarf_Die at = unit; child_with(at, address);) calls.push_back(at);
    for (size_t i = calls.size(); i-- > 0;) {
      const char* name = dwarf_diename(&calls[i]);
      place.function = name == nullptr ? "" : name;
      chain.push_back(place);
      if (i > 0) place = call_site(unit, calls[i]);
    }
    return chain;
  }

  // Whether unwind tables cover an address.
  [[nodiscard]] bool unwinds(uint64_t address) {
    if (!cfi_) cfi_.reset(dwarf_getcfi_elf(elf_.get()));
    if (!cfi_) return false;
    Dwarf_Frame* frame = nullptr;
    if (dwarf_cfi_addrframe(cfi_.get(), address, &frame) != 0) return false;
    Dwarf_Addr start = 0;
    Dwarf_Addr end = 0;
    dwarf_frame_info(frame, &start, &end, nullptr);
    std::free(frame);
    return start <= address && address < end;
  }

 private:
  // Goes to the child that holds the address.
  static bool child_with(Dwarf_Die& at, uint64_t address) {
    Dwarf_Die child;
    if (dwarf_child(&at, &child) != 0) return false;
    do {
      const int tag = dwarf_tag(&child);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
      if (dwarf_haspc(&child, address) <= 0) continue;
      at = child;
      return true;
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
  }

  static Frame call_site(Dwarf_Die& unit, Dwarf_Die& call) {
    Frame place;
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    if (dwarf_formudata(dwarf_attr(&call, DW_AT_call_line, &attribute), &value) == 0) {
      place.line = static_cast<int>(value);
    }
    Dwarf_Files* files = nullptr;
    size_t count = 0;
    if (dwarf_formudata(dwarf_attr(&call, DW_AT_call_file, &attribute), &value) == 0 &&
        dwarf_getsrcfiles(&unit, &files, &count) == 0) {
      const char* file = dwarf_filesrc(files, value, nullptr, nullptr);
      place.file = file == nullptr ? "(wrong)" : file;
    }
    return place;
  }

  struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
  };
  struct EndDwarf {
    void operator()(Dwarf* dwarf) const { dwarf_end(dwarf); }
  };
  struct EndCfi {
    void operator()(Dwarf_CFI* cfi) const { dwarf_cfi_end(cfi); }
  };
  std::unique_ptr<Elf, EndElf> elf_;
  std::unique_ptr<Dwarf, EndDwarf> dwarf_;
  std::unique_ptr<Dwarf_CFI, EndCfi> cfi_;
};

}  // namespace jitscope::fuzz
