// A small ELF file with one executable segment, .text, .symtab and .strtab, made in code: for tests
// that bend its fields.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace jitscope::test {

struct ElfBuilder {
  struct Symbol {
    std::string name;
    uint64_t value = 0;
    uint64_t size = 0;
    unsigned char type = STT_FUNC;
    uint16_t section = 1;  // .text
    unsigned char binding = STB_GLOBAL;
  };

  std::vector<Symbol> symbols;
  uint64_t text_address = 0x401000;
  uint64_t text_offset = 0x1000;
  uint64_t text_size = 0x1000;
  uint32_t symbol_section_type = SHT_SYMTAB;
  // Fields of the symbol table's header that a test may spoil, applied last.
  uint64_t entry_size = sizeof(Elf64_Sym);
  uint32_t link = 3;
  uint64_t symbols_size = 0;  // 0: as it is
  uint64_t names_size = 0;    // 0: as it is
  bool close_names = true;    // false: the last name has no NUL

  [[nodiscard]] std::string build() const {
    std::string names(1, '\0');
    std::vector<Elf64_Sym> table(1);
    for (const Symbol& symbol : symbols) {
      Elf64_Sym entry{};
      entry.st_name = static_cast<Elf64_Word>(names.size());
      entry.st_info = static_cast<unsigned char>(ELF64_ST_INFO(symbol.binding, symbol.type));
      entry.st_shndx = symbol.section;
      entry.st_value = symbol.value;
      entry.st_size = symbol.size;
      table.push_back(entry);
      names += symbol.name;
      names += '\0';
    }
    if (!close_names) names.pop_back();
    const std::string section_names("\0.text\0.symtab\0.strtab\0.shstrtab\0", 33);

    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof(Elf64_Ehdr);
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 5;
    header.e_shstrndx = 4;

    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_flags = PF_R | PF_X;
    segment.p_offset = text_offset;
    segment.p_vaddr = text_address;
    segment.p_filesz = segment.p_memsz = text_size;

    const uint64_t symbols_at = sizeof(header) + sizeof(segment);
    const uint64_t names_at = symbols_at + table.size() * sizeof(Elf64_Sym);
    const uint64_t section_names_at = names_at + names.size();
    header.e_shoff = (section_names_at + section_names.size() + 7) / 8 * 8;

    std::vector<Elf64_Shdr> sections(5);
    sections[1] = {
        1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text_address, text_offset, text_size, 0, 0, 16,
        0};
    sections[2] = {7,          symbol_section_type,
                   0,          0,
                   symbols_at, symbols_size != 0 ? symbols_size : table.size() * sizeof(Elf64_Sym),
                   link,       1,
                   8,          entry_size};
    sections[3] = {15, SHT_STRTAB, 0, 0, names_at, names_size != 0 ? names_size : names.size(),
                   0,  0,          1, 0};
    sections[4] = {23, SHT_STRTAB, 0, 0, section_names_at, section_names.size(), 0, 0, 1, 0};

    std::string file;
    const auto append = [&](const void* bytes, size_t size) {
      file.append(static_cast<const char*>(bytes), size);
    };
    append(&header, sizeof(header));
    append(&segment, sizeof(segment));
    append(table.data(), table.size() * sizeof(Elf64_Sym));
    file += names;
    file += section_names;
    file.resize(header.e_shoff);
    append(sections.data(), sections.size() * sizeof(Elf64_Shdr));
    return file;
  }
};

}  // namespace jitscope::test
