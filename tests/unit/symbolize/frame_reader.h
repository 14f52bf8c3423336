// FrameReader: call frame information read by elfutils' libdw, as a reader of unwind tables that is
// not ours: for any address the CFA and where registers are.
#pragma once

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jitscope::test {

// An ELF file that holds nothing but .eh_frame_hdr and .eh_frame at their addresses.
inline std::string elf_of_frames(const std::string& header, uint64_t header_address,
                                 const std::string& frame, uint64_t frame_address) {
  const std::string names("\0.eh_frame_hdr\0.eh_frame\0.shstrtab\0", 35);
  constexpr uint64_t headers = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  const uint64_t frame_offset = (headers + header.size() + 7) / 8 * 8;
  const uint64_t names_offset = frame_offset + frame.size();
  const uint64_t sections_offset = (names_offset + names.size() + 7) / 8 * 8;
  Elf64_Ehdr ehdr{};
  std::memcpy(ehdr.e_ident, ELFMAG, SELFMAG);
  ehdr.e_ident[EI_CLASS] = ELFCLASS64;
  ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
  ehdr.e_ident[EI_VERSION] = EV_CURRENT;
  ehdr.e_type = ET_DYN;
  ehdr.e_machine = EM_X86_64;
  ehdr.e_version = EV_CURRENT;
  ehdr.e_phoff = sizeof(Elf64_Ehdr);
  ehdr.e_shoff = sections_offset;
  ehdr.e_ehsize = sizeof(Elf64_Ehdr);
  ehdr.e_phentsize = sizeof(Elf64_Phdr);
  ehdr.e_phnum = 2;
  ehdr.e_shentsize = sizeof(Elf64_Shdr);
  ehdr.e_shnum = 4;
  ehdr.e_shstrndx = 3;
  std::array<Elf64_Phdr, 2> phdrs{};
  phdrs[0] = {PT_LOAD,        PF_R,          headers,       header_address,
              header_address, header.size(), header.size(), 8};
  phdrs[1] = phdrs[0];
  phdrs[1].p_type = PT_GNU_EH_FRAME;
  std::array<Elf64_Shdr, 4> shdrs{};
  shdrs[1] = {1, SHT_PROGBITS, SHF_ALLOC, header_address, headers, header.size(), 0, 0, 4, 0};
  shdrs[2] = {15, SHT_PROGBITS, SHF_ALLOC, frame_address, frame_offset, frame.size(), 0, 0, 8, 0};
  shdrs[3] = {25, SHT_STRTAB, 0, 0, names_offset, names.size(), 0, 0, 1, 0};
  std::string out;
  const auto put = [&](const auto& value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  put(ehdr);
  put(phdrs);
  out += header;
  out.resize(frame_offset, '\0');
  out += frame;
  out += names;
  out.resize(sections_offset, '\0');
  put(shdrs);
  return out;
}

struct FoundFrame {
  uint64_t cfa = 0;
  // Where the caller's values are; 0: in the register still. Nothing: lost.
  std::optional<uint64_t> rbp_at;
  std::optional<uint64_t> return_at;
};

class FrameReader {
 public:
  using Registers = std::array<uint64_t, 17>;  // by DWARF's numbers
  using ReadWord = std::function<std::optional<uint64_t>(uint64_t)>;

  explicit FrameReader(std::string elf) : bytes_(std::move(elf)) {
    elf_version(EV_CURRENT);
    elf_ = elf_memory(bytes_.data(), bytes_.size());
    if (elf_ != nullptr) cfi_ = dwarf_getcfi_elf(elf_);
  }
  ~FrameReader() {
    if (cfi_ != nullptr) dwarf_cfi_end(cfi_);
    if (elf_ != nullptr) elf_end(elf_);
  }
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;
  [[nodiscard]] bool ok() const { return cfi_ != nullptr; }

  // Nothing: no table tells of the address, or the table makes no sense.
  [[nodiscard]] std::optional<FoundFrame> at(uint64_t address, const Registers& registers,
                                             const ReadWord& word) const {
    Dwarf_Frame* frame = nullptr;
    if (dwarf_cfi_addrframe(cfi_, address, &frame) != 0) return std::nullopt;
    const auto found = read(frame, registers, word);
    free(frame);
    return found;
  }
  // The code that .eh_frame has a record for.
  [[nodiscard]] std::vector<std::pair<uint64_t, uint64_t>> ranges() const {
    std::vector<std::pair<uint64_t, uint64_t>> found;
    size_t names = 0;
    if (elf_getshdrstrndx(elf_, &names) != 0) return found;
    for (Elf_Scn* section = elf_nextscn(elf_, nullptr); section != nullptr;
         section = elf_nextscn(elf_, section)) {
      const Elf64_Shdr* header = elf64_getshdr(section);
      const char* name = header == nullptr ? nullptr : elf_strptr(elf_, names, header->sh_name);
      if (name == nullptr || std::string_view(name) != ".eh_frame") continue;
      Elf_Data* data = elf_getdata(section, nullptr);
      const auto* ident = reinterpret_cast<const unsigned char*>(elf_getident(elf_, nullptr));
      if (data != nullptr) {
        read_ranges(ident, data, header->sh_addr, found);
      }
    }
    return found;
  }

  // Where parts of functions begin that a compiler moved elsewhere (f.cold), by the symbol table.
  [[nodiscard]] std::set<uint64_t> moved_parts() const {
    std::set<uint64_t> found;
    for (Elf_Scn* section = elf_nextscn(elf_, nullptr); section != nullptr;
         section = elf_nextscn(elf_, section)) {
      const Elf64_Shdr* header = elf64_getshdr(section);
      if (header == nullptr || header->sh_type != SHT_SYMTAB) continue;
      const Elf_Data* data = elf_getdata(section, nullptr);
      if (data == nullptr) continue;
      const auto* symbols = static_cast<const Elf64_Sym*>(data->d_buf);
      for (size_t i = 0; i < data->d_size / sizeof(Elf64_Sym); ++i) {
        const char* name = elf_strptr(elf_, header->sh_link, symbols[i].st_name);
        if (name != nullptr && std::string_view(name).ends_with(".cold")) {
          found.insert(symbols[i].st_value);
        }
      }
    }
    return found;
  }

 private:
  // Records with places as compilers write them: relative to themselves, 32 bits.
  static void read_ranges(const unsigned char* ident, Elf_Data* data, uint64_t address,
                          std::vector<std::pair<uint64_t, uint64_t>>& found) {
    Dwarf_CFI_Entry entry;
    Dwarf_Off offset = 0;
    Dwarf_Off next = 0;
    while (dwarf_next_cfi(ident, data, true, offset, &next, &entry) == 0) {
      if (!dwarf_cfi_cie_p(&entry)) {
        const auto* bytes = static_cast<const char*>(data->d_buf);
        int32_t begin = 0;
        uint32_t size = 0;
        std::memcpy(&begin, entry.fde.start, sizeof(begin));
        std::memcpy(&size, entry.fde.start + sizeof(begin), sizeof(size));
        const uint64_t own =
            address + static_cast<uint64_t>(reinterpret_cast<const char*>(entry.fde.start) - bytes);
        found.emplace_back(own + static_cast<uint64_t>(int64_t{begin}),
                           own + static_cast<uint64_t>(int64_t{begin}) + size);
      }
      offset = next;
    }
  }
  static std::optional<FoundFrame> read(Dwarf_Frame* frame, const Registers& registers,
                                        const ReadWord& word) {
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    FoundFrame found;
    if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0) return std::nullopt;
    const auto cfa = run(ops, count, 0, registers, word);
    if (!cfa) return std::nullopt;
    found.cfa = *cfa;
    found.rbp_at = place(frame, 6, found.cfa, registers, word);
    found.return_at = place(frame, 16, found.cfa, registers, word);
    return found;
  }
  static std::optional<uint64_t> place(Dwarf_Frame* frame, int number, uint64_t cfa,
                                       const Registers& registers, const ReadWord& word) {
    Dwarf_Op memory[3];
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    if (dwarf_frame_register(frame, number, memory, &ops, &count) != 0) return std::nullopt;
    if (count == 0) return ops == nullptr ? std::optional<uint64_t>(0) : std::nullopt;
    return run(ops, count, cfa, registers, word);
  }
  static std::optional<uint64_t> run(const Dwarf_Op* ops, size_t count, uint64_t cfa,
                                     const Registers& registers, const ReadWord& word) {
    std::array<uint64_t, 16> stack{};
    size_t depth = 0;
    const auto push = [&](uint64_t value) { stack.at(depth++) = value; };
    for (size_t i = 0; i < count; ++i) {
      const Dwarf_Op& op = ops[i];
      if (op.atom >= DW_OP_breg0 && op.atom < DW_OP_breg0 + 17) {
        push(registers.at(static_cast<size_t>(op.atom) - DW_OP_breg0) + op.number);
      } else if (op.atom == DW_OP_bregx) {
        push(registers.at(op.number) + op.number2);
      } else if (op.atom == DW_OP_call_frame_cfa) {
        push(cfa);
      } else if (op.atom == DW_OP_plus_uconst && depth != 0) {
        stack.at(depth - 1) += op.number;
      } else if (op.atom == DW_OP_deref && depth != 0) {
        const auto value = word(stack.at(depth - 1));
        if (!value) return std::nullopt;
        stack.at(depth - 1) = *value;
      } else {
        return std::nullopt;
      }
    }
    return depth == 0 ? std::nullopt : std::optional<uint64_t>(stack.at(depth - 1));
  }

  std::string bytes_;
  Elf* elf_ = nullptr;
  Dwarf_CFI* cfi_ = nullptr;
};

}  // namespace jitscope::test
