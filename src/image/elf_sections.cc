#include "image/elf_sections.h"

#include "arch/machine.h"

#include <algorithm>
#include <cstring>

namespace jitscope {
namespace {

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

uint16_t ElfTables::section(std::string_view name, Elf64_Shdr header) {
  header.sh_name = names_.add(name);
  sections_.push_back(header);
  return static_cast<uint16_t>(sections_.size() - 1);
}

void ElfTables::sort_segments() {
  // Loadable ones ascend; what is no part of the memory comes last.
  std::ranges::stable_sort(segments_, [](const Elf64_Phdr& a, const Elf64_Phdr& b) {
    const bool a_loads = a.p_type == PT_LOAD;
    const bool b_loads = b.p_type == PT_LOAD;
    return a_loads != b_loads ? a_loads : a_loads && a.p_vaddr < b.p_vaddr;
  });
}

void ElfTables::write_start(ByteWriter& out, uint64_t section_headers,
                            std::span<const std::byte> build_id) const {
  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_ident[EI_DATA] = ELFDATA2LSB;
  elf.e_ident[EI_VERSION] = EV_CURRENT;
  elf.e_ident[EI_OSABI] = ELFOSABI_NONE;
  elf.e_type = type_;
  elf.e_machine = machine::elf_machine;
  elf.e_version = EV_CURRENT;
  elf.e_phoff = sizeof(Elf64_Ehdr);
  elf.e_shoff = section_headers;
  elf.e_ehsize = sizeof(Elf64_Ehdr);
  elf.e_phentsize = sizeof(Elf64_Phdr);
  elf.e_phnum = static_cast<uint16_t>(segments_.size());
  elf.e_shentsize = sizeof(Elf64_Shdr);
  elf.e_shnum = static_cast<uint16_t>(sections_.size());
  elf.e_shstrndx = names_section_;
  out.raw(bytes_of(elf));
  for (const Elf64_Phdr& segment : segments_) out.raw(bytes_of(segment));
  const Elf64_Nhdr note{4, kBuildIdSize, NT_GNU_BUILD_ID};
  out.raw(bytes_of(note));
  out.text("GNU");
  out.raw(build_id.first(std::min(build_id.size(), kBuildIdSize)));
}

uint64_t ElfTables::write_end(ByteWriter& out, uint64_t offset) {
  Elf64_Shdr own{};
  own.sh_type = SHT_STRTAB;
  own.sh_offset = offset + out.size();
  own.sh_addralign = 1;
  names_section_ = section(".shstrtab", own);
  sections_.back().sh_size = names_.bytes().size();
  out.raw(names_.bytes());
  out.zeros((8 - (offset + out.size()) % 8) % 8);
  const uint64_t headers = offset + out.size();
  for (const Elf64_Shdr& header : sections_) out.raw(bytes_of(header));
  return headers;
}

}  // namespace jitscope
