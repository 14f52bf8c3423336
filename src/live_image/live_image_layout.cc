// Builds the byte blocks of a live image: first page, symbol tables, section headers. No system
// calls; live_image.cc writes what is built here.
#include "live_image/live_image_layout.h"

#include "arch/machine.h"

#include <bit>
#include <cstring>
#include <limits>
#include <string>

namespace jitscope::live_image_layout {
namespace {

static_assert(std::endian::native == std::endian::little, "structures are copied as they are");

template <typename T>
void put(std::vector<std::byte>& page, uint64_t offset, const T& value) {
  std::memcpy(page.data() + offset, &value, sizeof(T));
}

void append(std::vector<std::byte>& out, const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  out.insert(out.end(), bytes, bytes + size);
}

void align(std::vector<std::byte>& out, size_t to) {
  out.resize((out.size() + to - 1) / to * to);
}

// A string table: begins with the empty string, as the gABI asks.
class StringTable {
 public:
  uint32_t add(std::string_view text) {
    const auto at = static_cast<uint32_t>(text_.size());
    text_.append(text);
    text_.push_back('\0');
    return at;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_ = std::string(1, '\0');
};

}  // namespace

uint32_t hash(std::span<const std::byte> bytes, uint64_t seed) {
  constexpr uint64_t prime = 0x100000001b3;
  uint64_t value = 0xcbf29ce484222325 ^ (seed * prime);
  for (const std::byte byte : bytes) value = (value ^ std::to_integer<uint64_t>(byte)) * prime;
  return static_cast<uint32_t>(value ^ (value >> 32));
}

uint32_t record_check(SiteRecord record, uint64_t index) {
  record.check = 0;
  // Seed 0 belongs to the image header.
  return hash(std::as_bytes(std::span(&record, 1)), index + 1);
}

uint32_t header_check(const ImageHeader& header) {
  const auto bytes = std::as_bytes(std::span(&header, 1));
  return hash(bytes.first(offsetof(ImageHeader, check)), 0);
}

std::vector<std::byte> first_page(const ImageIdentity& identity, const Geometry& geometry,
                                  std::span<const std::byte> build_id, uint64_t section_headers) {
  std::vector<std::byte> page(live_image_page);

  Elf64_Ehdr elf{};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS64;
  elf.e_ident[EI_DATA] = ELFDATA2LSB;
  elf.e_ident[EI_VERSION] = EV_CURRENT;
  elf.e_type = ET_DYN;
  elf.e_machine = machine::elf_machine;
  elf.e_version = EV_CURRENT;
  elf.e_phoff = program_headers_offset;
  elf.e_shoff = section_headers;
  elf.e_ehsize = sizeof(Elf64_Ehdr);
  elf.e_phentsize = sizeof(Elf64_Phdr);
  elf.e_phnum = program_header_count;
  elf.e_shentsize = sizeof(Elf64_Shdr);
  elf.e_shnum = section_count;
  elf.e_shstrndx = section_shstrtab;
  put(page, 0, elf);

  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  load.p_flags = PF_R | PF_X;
  load.p_filesz = geometry.text_end();
  load.p_memsz = geometry.text_end();
  load.p_align = live_image_page;
  put(page, program_headers_offset, load);
  Elf64_Phdr note{};
  note.p_type = PT_NOTE;
  note.p_flags = PF_R;
  note.p_offset = note.p_vaddr = note.p_paddr = notes_offset;
  note.p_filesz = note.p_memsz = notes_end - notes_offset;
  note.p_align = 4;
  put(page, program_headers_offset + sizeof(Elf64_Phdr), note);
  Elf64_Phdr stack{};
  stack.p_type = PT_GNU_STACK;
  stack.p_flags = PF_R | PF_W;
  stack.p_align = 16;
  put(page, program_headers_offset + 2 * sizeof(Elf64_Phdr), stack);

  const Elf64_Nhdr ours{owner_size, sizeof(ImageHeader), note_type};
  put(page, notes_offset, ours);
  std::memcpy(page.data() + notes_offset + sizeof(Elf64_Nhdr), owner.data(), owner.size());
  ImageHeader header;
  header.pid = identity.pid;
  header.start_ticks = identity.start_ticks;
  header.table_offset = geometry.table_offset;
  header.table_length = geometry.table_length;
  header.text_offset = geometry.text_offset();
  header.text_length = geometry.text_length;
  header.record_size = record_size;
  header.check = header_check(header);
  put(page, image_header_offset, header);

  const Elf64_Nhdr gnu{4, build_id_size, NT_GNU_BUILD_ID};
  put(page, build_id_offset, gnu);
  std::memcpy(page.data() + build_id_offset + sizeof(Elf64_Nhdr), "GNU", 4);
  std::memcpy(page.data() + build_id_offset + sizeof(Elf64_Nhdr) + 4, build_id.data(),
              std::min<size_t>(build_id.size(), build_id_size));
  return page;
}

Result<Tail> symbol_tail(std::span<const ImageSymbol> symbols, const Geometry& geometry,
                         uint64_t offset) {
  uint64_t names_size = 1;
  for (const ImageSymbol& symbol : symbols) names_size += symbol.name.size() + 1;
  if (names_size > std::numeric_limits<uint32_t>::max()) {
    return fail(ErrorKind::not_possible, "the symbol names of the image exceed 4 GiB");
  }

  StringTable names;
  std::vector<Elf64_Sym> table(1);  // the null symbol
  const auto add = [&](const ImageSymbol& symbol) {
    Elf64_Sym entry{};
    entry.st_name = names.add(symbol.name);
    // Profilers name code by labels too; bpftrace, perf probe, BCC and libbpf take functions only,
    // so that a wildcard finds a method's probe point and not what leads to it.
    entry.st_info = static_cast<unsigned char>(
        symbol.global ? ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) : ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE));
    entry.st_other = STV_DEFAULT;
    entry.st_shndx = section_text;
    entry.st_value = symbol.offset;  // addresses of the file begin at 0: address = offset
    entry.st_size = symbol.size;
    table.push_back(entry);
  };
  // The gABI wants the local ones first; sh_info is the index of the first that is not.
  for (const ImageSymbol& symbol : symbols) {
    if (!symbol.global) add(symbol);
  }
  const auto first_global = static_cast<uint32_t>(table.size());
  for (const ImageSymbol& symbol : symbols) {
    if (symbol.global) add(symbol);
  }

  StringTable section_names;
  std::vector<Elf64_Shdr> sections(section_count);
  const auto section = [&](Section index, std::string_view name, uint32_t type, uint64_t flags,
                           uint64_t at, uint64_t size, uint64_t alignment) -> Elf64_Shdr& {
    Elf64_Shdr& header = sections[index];
    header.sh_name = section_names.add(name);
    header.sh_type = type;
    header.sh_flags = flags;
    header.sh_addr = (flags & SHF_ALLOC) != 0 ? at : 0;
    header.sh_offset = at;
    header.sh_size = size;
    header.sh_addralign = alignment;
    return header;
  };
  Tail tail;
  section(section_note, ".note.jitscope", SHT_NOTE, SHF_ALLOC, notes_offset,
          build_id_offset - notes_offset, 4);
  section(section_build_id, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, build_id_offset,
          notes_end - build_id_offset, 4);
  section(section_sites, ".jitscope.sites", SHT_PROGBITS, SHF_ALLOC, geometry.table_offset,
          geometry.table_length, record_size)
      .sh_entsize = record_size;
  section(section_text, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, geometry.text_offset(),
          geometry.text_length, live_image_page);

  Elf64_Shdr& symtab = section(section_symtab, ".symtab", SHT_SYMTAB, 0, offset,
                               table.size() * sizeof(Elf64_Sym), alignof(Elf64_Sym));
  symtab.sh_link = section_strtab;
  symtab.sh_info = first_global;
  symtab.sh_entsize = sizeof(Elf64_Sym);
  append(tail.bytes, table.data(), table.size() * sizeof(Elf64_Sym));

  section(section_strtab, ".strtab", SHT_STRTAB, 0, offset + tail.bytes.size(), names.text().size(),
          1);
  append(tail.bytes, names.text().data(), names.text().size());

  Elf64_Shdr& shstrtab =
      section(section_shstrtab, ".shstrtab", SHT_STRTAB, 0, offset + tail.bytes.size(), 0, 1);
  shstrtab.sh_size = section_names.text().size();
  append(tail.bytes, section_names.text().data(), section_names.text().size());

  align(tail.bytes, alignof(Elf64_Shdr));
  tail.section_headers = offset + tail.bytes.size();
  append(tail.bytes, sections.data(), sections.size() * sizeof(Elf64_Shdr));
  return tail;
}

}  // namespace jitscope::live_image_layout
