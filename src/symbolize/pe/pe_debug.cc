// See pe_debug.h. The ELF file: a header, contents, names, section headers (System V ABI).
#include "symbolize/pe/pe_debug.h"

#include <elf.h>

#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace jitscope {
namespace {

constexpr std::string_view kDebug = ".debug_";
constexpr size_t kMostSections = 64;

class SectionWriter {
 public:
  SectionWriter() {
    append(std::vector<std::byte>(sizeof(Elf64_Ehdr)));
    headers_.push_back({});
    names_.push_back('\0');
  }
  void add(std::string_view name, uint32_t type, std::span<const std::byte> content) {
    Elf64_Shdr header = {};
    header.sh_name = static_cast<uint32_t>(names_.size());
    header.sh_type = type;
    header.sh_offset = bytes_.size();
    header.sh_size = content.size();
    header.sh_addralign = 1;
    headers_.push_back(header);
    names_ += name;
    names_ += '\0';
    append(content);
  }
  std::vector<std::byte> finish() {
    constexpr std::string_view strings = ".shstrtab";
    const std::string names = names_ + std::string(strings) + '\0';
    add(strings, SHT_STRTAB, std::as_bytes(std::span(names)));
    bytes_.resize((bytes_.size() + 7) & ~size_t{7});
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_shoff = bytes_.size();
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<uint16_t>(headers_.size());
    header.e_shstrndx = static_cast<uint16_t>(headers_.size() - 1);
    std::memcpy(bytes_.data(), &header, sizeof(header));
    append(std::as_bytes(std::span(headers_)));
    return std::move(bytes_);
  }
  [[nodiscard]] size_t sections() const { return headers_.size(); }

 private:
  void append(std::span<const std::byte> content) {
    bytes_.insert(bytes_.end(), content.begin(), content.end());
  }
  std::vector<std::byte> bytes_;
  std::vector<Elf64_Shdr> headers_;
  std::string names_;
};

}  // namespace

std::vector<std::byte> debug_elf(const PeImage& image) {
  SectionWriter writer;
  bool any = false;
  uint64_t total = 0;
  for (const PeSection& section : image.headers().sections) {
    const std::string_view name = image.section_name(section);
    if (!name.starts_with(kDebug) || writer.sections() > kMostSections) continue;
    const std::span<const std::byte> content = image.from(section.rva);
    // Sections of a hostile image may all be the same bytes.
    total += content.size();
    if (total > image.file().size()) return {};
    writer.add(name, SHT_PROGBITS, content);
    any = any || name == ".debug_info";
  }
  return any ? writer.finish() : std::vector<std::byte>();
}

}  // namespace jitscope
