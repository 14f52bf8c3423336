#include "symbolize/elf_file.h"

#include <elfutils/libdwelf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/byte_cursor.h"

namespace jitscope {
namespace {

// The largest in real files: debug sections of browsers, some 2 GB.
constexpr uint64_t most_section_bytes = uint64_t{4} << 30;
// Sections larger than this must be on the disk: a hole costs nothing to make. File systems that
// compress keep more than a sixteenth.
constexpr uint64_t most_sparse_bytes = uint64_t{64} << 20;
constexpr uint64_t most_growth = 64;
constexpr uint64_t most_note_bytes = uint64_t{16} << 20;
constexpr uint64_t most_sections = uint64_t{1} << 18;
constexpr uint64_t most_segments = 4096;

}  // namespace

bool same_build_id(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (a.empty() || !std::ranges::equal(a, b.first(a.size()))) return a.empty() && b.empty();
  return std::ranges::all_of(b.subspan(a.size()),
                             [](std::byte byte) { return byte == std::byte{}; });
}

ElfFile::~ElfFile() {
  if (elf_ != nullptr) elf_end(elf_);
}

Result<std::unique_ptr<ElfFile>> ElfFile::open(const std::string& path, const std::string& root) {
  JITSCOPE_ASSIGN(auto opened, open_regular_file(path, root));
  std::unique_ptr<ElfFile> file(new ElfFile);
  file->path_ = path;
  file->root_ = root;
  file->file_ = std::move(opened);
  JITSCOPE_TRY(file->read_headers());
  return file;
}

Result<std::unique_ptr<ElfFile>> ElfFile::from_fd(UniqueFd fd, const std::string& path) {
  std::unique_ptr<ElfFile> file(new ElfFile);
  file->path_ = path;
  if (::fstat(fd.get(), &file->file_.status) != 0) return fail(system_error("cannot read", path));
  file->file_.fd = std::move(fd);
  JITSCOPE_TRY(file->read_headers());
  return file;
}

Result<std::unique_ptr<ElfFile>> ElfFile::from_memory(std::vector<std::byte> bytes,
                                                      std::string where) {
  std::unique_ptr<ElfFile> file(new ElfFile);
  file->path_ = std::move(where);
  file->memory_ = std::move(bytes);
  JITSCOPE_TRY(file->read_headers());
  return file;
}

// More sections than 65,279 are counted in a field that holds any number, and libelf allocates so
// many.
Status ElfFile::check_section_count(std::string_view start) {
  if (start.size() < EI_NIDENT || !start.starts_with(std::string_view(ELFMAG, SELFMAG))) {
    return fail(ErrorKind::damaged, "is no ELF file", path_);
  }
  const bool wide = start[EI_CLASS] == ELFCLASS64;
  const auto order = start[EI_DATA] == ELFDATA2MSB ? std::endian::big : std::endian::little;
  ByteCursor cursor(std::as_bytes(std::span(start)), order);
  cursor.skip(wide ? 40 : 32);
  const uint64_t table = wide ? cursor.u64() : cursor.u32();
  cursor.skip(12);  // flags, sizes of headers, segments
  const uint16_t count = cursor.u16();
  if (!cursor.ok()) return fail(ErrorKind::damaged, "is cut short in its ELF header", path_);
  if (count != 0 || table == 0) return {};
  std::array<char, sizeof(Elf64_Shdr)> first = {};
  const size_t size = wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
  if (!memory_.empty()) {
    if (table > memory_.size() || size > memory_.size() - table) return {};
    std::memcpy(first.data(), memory_.data() + table, size);
  } else if (::pread(fd(), first.data(), size, static_cast<off_t>(table)) !=
             static_cast<ssize_t>(size)) {
    return {};  // libelf says what is wrong
  }
  ByteCursor section(std::as_bytes(std::span(first)), order);
  section.skip(wide ? 32 : 20);
  const uint64_t sections = wide ? section.u64() : section.u32();
  if (sections > most_sections) {
    return fail(ErrorKind::damaged, "has an absurd number of sections", path_);
  }
  return {};
}

Status ElfFile::read_headers() {
  elf_version(EV_CURRENT);
  std::array<char, sizeof(Elf64_Ehdr)> start = {};
  size_t have = 0;
  if (fd() >= 0) {
    const ssize_t got = ::pread(fd(), start.data(), start.size(), 0);
    if (got < 0) return fail(system_error("cannot read", path_));
    have = static_cast<size_t>(got);
  } else {
    have = std::min(start.size(), memory_.size());
    if (have != 0) std::memcpy(start.data(), memory_.data(), have);
  }
  JITSCOPE_TRY(check_section_count({start.data(), have}));
  elf_ = fd() >= 0 ? elf_begin(fd(), ELF_C_READ, nullptr)
                   : elf_memory(reinterpret_cast<char*>(memory_.data()), memory_.size());
  if (elf_ == nullptr || elf_kind(elf_) != ELF_K_ELF || gelf_getehdr(elf_, &header_) == nullptr) {
    return fail(ErrorKind::damaged, "is no ELF file", path_);
  }
  size_t count = 0;
  if (elf_getphdrnum(elf_, &count) != 0) count = 0;
  for (size_t i = 0; i < std::min(count, most_segments); ++i) {
    GElf_Phdr segment = {};
    if (gelf_getphdr(elf_, static_cast<int>(i), &segment) == nullptr) break;
    if (segment.p_type == PT_NOTE && segment.p_filesz > most_note_bytes) sizes_are_sane_ = false;
    if (segment.p_type != PT_LOAD) continue;
    segments_.push_back({segment.p_offset, segment.p_filesz, segment.p_vaddr, segment.p_memsz,
                         (segment.p_flags & PF_X) != 0});
  }
  size_t names = 0;
  if (elf_getshdrnum(elf_, &count) != 0) count = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) names = 0;
  // The table of names first: elf_strptr() loads it whole.
  Elf_Scn* name_section = names != 0 ? elf_getscn(elf_, names) : nullptr;
  GElf_Shdr name_header = {};
  if (name_section == nullptr || gelf_getshdr(name_section, &name_header) == nullptr ||
      !sane({{}, name_header})) {
    names = 0;
  }
  for (size_t i = 0; i < std::min<uint64_t>(count, most_sections); ++i) {
    Section section;
    Elf_Scn* scn = elf_getscn(elf_, i);
    if (scn == nullptr || gelf_getshdr(scn, &section.header) == nullptr) section.header = {};
    const char* name = names != 0 ? elf_strptr(elf_, names, section.header.sh_name) : nullptr;
    if (name != nullptr) section.name.assign(name, ::strnlen(name, 256));
    if (!sane(section)) sizes_are_sane_ = false;
    sections_.push_back(std::move(section));
  }
  read_build_id();
  return {};
}

bool ElfFile::sane(const Section& section) const {
  const GElf_Shdr& header = section.header;
  if (header.sh_type == SHT_NOBITS) return true;
  if (header.sh_size > (header.sh_type == SHT_NOTE ? most_note_bytes : most_section_bytes)) {
    return false;
  }
  if (header.sh_size > most_sparse_bytes && fd() >= 0 &&
      static_cast<uint64_t>(status().st_blocks) * 512 < header.sh_size / 16) {
    return false;
  }
  // The older form of compression: zlib makes at most 1032 times more of its input.
  return !section.name.starts_with(".zdebug") || header.sh_size <= most_section_bytes / 1032;
}

bool ElfFile::expands_sanely(const Section& section) const {
  if ((section.header.sh_flags & SHF_COMPRESSED) == 0) return true;
  Elf_Scn* scn = elf_getscn(elf_, static_cast<size_t>(&section - sections_.data()));
  GElf_Chdr compression = {};
  if (scn == nullptr || gelf_getchdr(scn, &compression) == nullptr) return false;
  // Debug information gets some 3 to 20 times smaller; what says more than that is made of nothing.
  const uint64_t most = std::max(most_sparse_bytes, section.header.sh_size * most_growth);
  return compression.ch_size <= std::min(most, most_section_bytes);
}

bool ElfFile::sizes_are_sane() const {
  return sizes_are_sane_ && std::ranges::all_of(sections_, [this](const Section& section) {
           return expands_sanely(section);
         });
}

void ElfFile::read_build_id() {
  if (!sizes_are_sane_) return;
  const void* id = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf_, &id);
  constexpr ssize_t longest = 64;
  if (size <= 0 || size > longest || id == nullptr) return;
  const auto* bytes = static_cast<const std::byte*>(id);
  build_id_.assign(bytes, bytes + size);
}

const ElfFile::Section* ElfFile::section(std::string_view name, uint32_t type) const {
  const auto found = std::ranges::find_if(sections_, [&](const Section& section) {
    return section.header.sh_type == type && section.name == name;
  });
  return found == sections_.end() ? nullptr : &*found;
}

const ElfFile::Section* ElfFile::filled_section(std::string_view name) const {
  const auto found = std::ranges::find_if(sections_, [&](const Section& section) {
    return section.header.sh_type != SHT_NOBITS && section.header.sh_type != SHT_NULL &&
           section.header.sh_size != 0 && section.name == name;
  });
  return found == sections_.end() ? nullptr : &*found;
}

Elf_Data* ElfFile::data(const Section& section) const {
  if (section.header.sh_type == SHT_NOBITS || !sane(section) || !expands_sanely(section)) {
    return nullptr;
  }
  Elf_Scn* scn = elf_getscn(elf_, static_cast<size_t>(&section - sections_.data()));
  if (scn == nullptr) return nullptr;
  if ((section.header.sh_flags & SHF_COMPRESSED) != 0 && elf_compress(scn, 0, 0) < 0) {
    return nullptr;
  }
  Elf_Data* data = elf_getdata(scn, nullptr);
  return data == nullptr || data->d_buf == nullptr ? nullptr : data;
}

ElfFile::Text ElfFile::text(const Section& section) const {
  const GElf_Shdr& header = section.header;
  Text text;
  if (fd() < 0 || (header.sh_flags & SHF_COMPRESSED) != 0) {
    const Elf_Data* held = data(section);
    if (held == nullptr) return text;
    text.size = held->d_size;
    text.bytes = std::make_unique_for_overwrite<char[]>(text.size + 1);
    std::memcpy(text.bytes.get(), held->d_buf, text.size);
  } else {
    const auto whole = static_cast<uint64_t>(std::max<off_t>(status().st_size, 0));
    if (header.sh_type == SHT_NOBITS || !sane(section) || header.sh_offset > whole ||
        header.sh_size > whole - header.sh_offset) {
      return text;
    }
    text.size = header.sh_size;
    text.bytes = std::make_unique_for_overwrite<char[]>(text.size + 1);
    for (size_t have = 0; have < text.size;) {
      const ssize_t got = ::pread(fd(), text.bytes.get() + have, text.size - have,
                                  static_cast<off_t>(header.sh_offset + have));
      if (got <= 0) return {};
      have += static_cast<size_t>(got);
    }
  }
  text.bytes[text.size] = '\0';
  return text;
}

}  // namespace jitscope
