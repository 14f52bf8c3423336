// Which entries of a symbol table count, and the stubs of PLT sections.
#include <algorithm>
#include <cstring>
#include <limits>

#include "base/byte_cursor.h"
#include "base/work_limit.h"
#include "symbolize/symbol_table.h"

namespace jitscope {
namespace {

// Browsers have some 5 million. A symbol costs 100 bytes while the table is made.
constexpr size_t most_symbols = size_t{16} << 20;

// $a, $d, $t, $x of ARM: what the bytes are, not whose.
bool marks_bytes(const ElfFile& file, const char* name) {
  if (file.machine() != EM_ARM && file.machine() != EM_AARCH64) return false;
  return name[0] == '$' && name[1] != '\0' && std::strchr("adtx", name[1]) != nullptr &&
         (name[2] == '\0' || name[2] == '.');
}

bool is_label(const GElf_Sym& symbol) {
  const auto visibility = GELF_ST_VISIBILITY(symbol.st_other);
  return GELF_ST_TYPE(symbol.st_info) == STT_NOTYPE && visibility != STV_HIDDEN &&
         visibility != STV_INTERNAL;
}

bool is_function_or_object(const GElf_Sym& symbol) {
  const auto type = GELF_ST_TYPE(symbol.st_info);
  return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_OBJECT;
}

bool jumps_to_slot(uint16_t machine, uint64_t type) {
  if (machine == EM_386) {
    return type == R_386_JMP_SLOT || type == R_386_GLOB_DAT || type == R_386_IRELATIVE;
  }
  return machine == EM_X86_64 &&
         (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_IRELATIVE);
}

bool resolves_itself(uint16_t machine, uint64_t type) {
  return (machine == EM_386 && type == R_386_IRELATIVE) ||
         (machine == EM_X86_64 && type == R_X86_64_IRELATIVE);
}

uint32_t stub_size(uint16_t machine, const ElfFile::Section& stubs) {
  if (machine == EM_AARCH64) return 16;
  if (machine == EM_ARM) return 12;
  const uint64_t size = stubs.header.sh_entsize;
  return size == 8 || size == 16 ? static_cast<uint32_t>(size) : 16;
}

uint32_t stub_header_size(uint16_t machine, const ElfFile::Section& stubs) {
  if (stubs.name != ".plt") return 0;
  if (machine == EM_AARCH64) return 32;
  if (machine == EM_ARM) return 20;
  return stub_size(machine, stubs);
}

// The slot that an x86-64 stub jumps through: jmp *disp32(%rip), perhaps behind endbr64 and bnd.
std::optional<uint64_t> slot_of_jump(std::span<const std::byte> stub, uint64_t address) {
  for (size_t i = 0; i + 6 <= stub.size() && i <= 5; ++i) {
    if (stub[i] != std::byte{0xff} || stub[i + 1] != std::byte{0x25}) continue;
    int32_t distance = 0;
    std::memcpy(&distance, stub.data() + i + 2, sizeof(distance));
    return address + i + 6 + static_cast<uint64_t>(int64_t{distance});
  }
  return std::nullopt;
}

// The number of the relocation that a lazy stub with endbr64 pushes.
std::optional<uint32_t> pushed_index(std::span<const std::byte> stub) {
  constexpr std::byte push{0x68};
  if (stub.size() < 9 || stub[0] != std::byte{0xf3} || stub[4] != push) return std::nullopt;
  uint32_t index = 0;
  std::memcpy(&index, stub.data() + 5, sizeof(index));
  return index;
}

}  // namespace

const ElfFile::Text& SymbolTable::keep(const ElfFile& file, uint64_t section) {
  static const ElfFile::Text none;
  if (section >= file.sections().size()) return none;
  const ElfFile::Section* source = &file.sections()[section];
  for (const Pool& pool : pools_) {
    if (pool.copied_from == source) return pool.names;
  }
  pools_.push_back({source, file.text(*source)});
  return pools_.back().names;
}

void SymbolTable::add(const ElfFile& file, const ElfFile::Section& section) {
  const auto& sections = file.sections();
  if (section.header.sh_entsize == 0) return;
  Elf_Data* data = file.data(section);
  if (data == nullptr) return;
  const ElfFile::Text& names = keep(file, section.header.sh_link);
  if (names.size == 0) return;
  const size_t count =
      std::min<size_t>(data->d_size / section.header.sh_entsize, std::numeric_limits<int>::max());
  // Sections by number. perf takes objects outside of code too: a stack walked by wrong frame
  // pointers leads there.
  struct Kind {
    bool loaded = false;
    bool code = false;
    bool labels = false;
  };
  std::vector<Kind> kinds(sections.size());
  for (size_t i = 0; i < sections.size(); ++i) {
    const auto& name = sections[i].name;
    const uint64_t flags = sections[i].header.sh_flags;
    kinds[i] = {(flags & SHF_ALLOC) != 0 && (flags & SHF_TLS) == 0, (flags & SHF_EXECINSTR) != 0,
                name.contains("text") || name.contains("data")};
  }
  const bool relocatable = file.type() == ET_REL;
  // As they lie there, without a call for each.
  const bool plain = gelf_getclass(file.elf()) == ELFCLASS64 && data->d_type == ELF_T_SYM &&
                     section.header.sh_entsize == sizeof(GElf_Sym);
  symbols_.reserve(symbols_.size() + count / 2);
  WorkMeter work(1U << 16U);
  for (size_t i = 0; i < count && !cut_; ++i) {
    cut_ = symbols_.size() >= most_symbols || work.over();
    GElf_Sym symbol;
    if (plain) {
      std::memcpy(&symbol, static_cast<const GElf_Sym*>(data->d_buf) + i, sizeof(symbol));
    } else if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) {
      break;
    }
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections.size()) continue;
    const Kind kind = kinds[symbol.st_shndx];
    if (!kind.loaded || symbol.st_name == 0 || symbol.st_name >= names.size) continue;
    if (!is_function_or_object(symbol) && (!kind.labels || !is_label(symbol))) continue;
    const char* name = names.bytes.get() + symbol.st_name;
    if (*name == '\0' || marks_bytes(file, name)) continue;
    const auto& home = sections[symbol.st_shndx].header;
    Symbol added;
    // Without segments, the file's own terms are its offsets.
    added.start = symbol.st_value + (relocatable ? home.sh_offset : 0);
    added.end = checked_add(added.start, symbol.st_size).value_or(UINT64_MAX);
    added.limit =
        checked_add(relocatable ? home.sh_offset : home.sh_addr, home.sh_size).value_or(UINT64_MAX);
    added.name = name;
    added.binding = GELF_ST_BIND(symbol.st_info);
    added.code = kind.code;
    has_code_ |= kind.code;
    has_local_code_ |= kind.code && added.binding == STB_LOCAL;
    symbols_.push_back(added);
  }
}

std::vector<SymbolTable::Slot> SymbolTable::slots(const ElfFile& file,
                                                  const ElfFile::Section& relocations) {
  std::vector<Slot> result;
  const auto& sections = file.sections();
  const auto& header = relocations.header;
  const bool with_addend = header.sh_type == SHT_RELA;
  if ((!with_addend && header.sh_type != SHT_REL) || header.sh_entsize == 0) return result;
  Elf_Data* data = file.data(relocations);
  if (data == nullptr) return result;
  Elf_Data* symbols = nullptr;
  const ElfFile::Text* names = nullptr;
  if (header.sh_link != 0 && header.sh_link < sections.size()) {
    symbols = file.data(sections[header.sh_link]);
    if (symbols != nullptr) names = &keep(file, sections[header.sh_link].header.sh_link);
  }
  const bool every = relocations.name.ends_with(".plt");
  const size_t count =
      std::min<size_t>(data->d_size / header.sh_entsize, std::numeric_limits<int>::max());
  for (size_t i = 0; i < count; ++i) {
    GElf_Rela relocation = {};
    if (with_addend) {
      if (gelf_getrela(data, static_cast<int>(i), &relocation) == nullptr) break;
    } else {
      GElf_Rel plain;
      if (gelf_getrel(data, static_cast<int>(i), &plain) == nullptr) break;
      relocation.r_offset = plain.r_offset;
      relocation.r_info = plain.r_info;
    }
    const uint64_t type = GELF_R_TYPE(relocation.r_info);
    if (!every && !jumps_to_slot(file.machine(), type)) continue;
    Slot slot;
    slot.address = relocation.r_offset;
    if (resolves_itself(file.machine(), type)) {
      slot.target = static_cast<uint64_t>(relocation.r_addend);
    } else if (names != nullptr) {
      GElf_Sym symbol;
      const uint64_t index = GELF_R_SYM(relocation.r_info);
      if (index != 0 && index < std::numeric_limits<int>::max() &&
          gelf_getsym(symbols, static_cast<int>(index), &symbol) != nullptr &&
          symbol.st_name < names->size && names->bytes[symbol.st_name] != '\0') {
        slot.name = names->bytes.get() + symbol.st_name;
      }
    }
    result.push_back(slot);  // also one without a name: stubs are numbered by them
  }
  return result;
}

void SymbolTable::add_stubs(const ElfFile& file, const ElfFile::Section& stubs,
                            const std::vector<Slot>& by_address,
                            const std::vector<Slot>& by_index) {
  const uint32_t size = stub_size(file.machine(), stubs);
  const uint32_t header_size = stub_header_size(file.machine(), stubs);
  const bool by_code = file.machine() == EM_X86_64;
  if (!by_code && stubs.name != ".plt") return;
  const Elf_Data* data = file.data(stubs);
  if (data == nullptr) return;
  const std::span bytes(static_cast<const std::byte*>(data->d_buf), data->d_size);
  uint32_t index = 0;
  for (uint64_t at = header_size; at + size <= bytes.size(); at += size, ++index) {
    const uint64_t address = stubs.header.sh_addr + at;
    const Slot* slot = nullptr;
    if (by_code) {
      const auto stub = bytes.subspan(at, size);
      if (const auto through = slot_of_jump(stub, address)) {
        const auto found = std::ranges::lower_bound(by_address, *through, {}, &Slot::address);
        if (found != by_address.end() && found->address == *through) slot = &*found;
      } else if (const auto number = pushed_index(stub); number && *number < by_index.size()) {
        slot = &by_index[*number];
      }
    } else if (index < by_index.size()) {
      slot = &by_index[index];
    }
    if (slot == nullptr || (slot->name == nullptr && slot->target == 0)) continue;
    Symbol added;
    added.start = address;
    added.end = address + size;
    added.limit = slot->target;
    added.name = slot->name;
    added.binding = STB_GLOBAL;
    added.stub = true;
    added.code = true;
    symbols_.push_back(added);
  }
}

void SymbolTable::add_plt(const ElfFile& file) {
  std::vector<const ElfFile::Section*> stubs;
  for (const char* const name : {".plt", ".plt.sec", ".plt.got"}) {
    if (const auto* found = file.filled_section(name)) stubs.push_back(found);
  }
  if (stubs.empty()) return;
  std::vector<Slot> by_index;
  std::vector<Slot> by_address;
  for (const char* const name : {".rela.plt", ".rel.plt", ".rela.dyn"}) {
    const auto* found = file.filled_section(name);
    if (found == nullptr) continue;
    // Slots of .plt.got are among the many of .rela.dyn.
    if (found->name == ".rela.dyn" && file.filled_section(".plt.got") == nullptr) continue;
    auto some = slots(file, *found);
    if (by_index.empty() && found->name != ".rela.dyn") by_index = some;
    by_address.insert(by_address.end(), some.begin(), some.end());
  }
  std::ranges::stable_sort(by_address, {}, &Slot::address);
  for (const auto* section : stubs) add_stubs(file, *section, by_address, by_index);
}

}  // namespace jitscope
