// Files for the tests of live images: a memfd that several descriptors can share, its bytes, and a
// small ELF reader that shares no code with the writer.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace jitscope::test {

inline UniqueFd new_memfd() {
  return UniqueFd(::memfd_create("live-image-test", MFD_CLOEXEC));
}

// A second descriptor of the same file, as another program would open it.
inline UniqueFd reopen(int fd, int flags = O_RDONLY) {
  return UniqueFd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), flags | O_CLOEXEC));
}

inline std::vector<std::byte> read_range(int fd, uint64_t offset, uint64_t length) {
  std::vector<std::byte> bytes(length);
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got =
        ::pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(offset + have));
    if (got <= 0) break;
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

inline std::vector<std::byte> read_all(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return {};
  return read_range(fd, 0, static_cast<uint64_t>(status.st_size));
}

inline std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

struct ElfSymbol {
  std::string name;
  uint64_t value = 0;
  uint64_t size = 0;
  unsigned char type = 0;
  unsigned char binding = 0;
  std::string section;
};

template <typename T>
std::optional<T> read_value(int fd, uint64_t offset) {
  const auto bytes = read_range(fd, offset, sizeof(T));
  if (bytes.size() != sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

inline std::optional<std::string> read_string(int fd, const Elf64_Shdr& table, uint64_t at) {
  if (at >= table.sh_size) return std::nullopt;
  const auto bytes = read_range(fd, table.sh_offset + at, table.sh_size - at);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const size_t length = ::strnlen(text, bytes.size());
  if (length == bytes.size()) return std::nullopt;
  return std::string(text, length);
}

// Reads .symtab as a tool does: header, section headers, the two tables, each by its own pread.
// Nothing when anything is out of place.
inline std::optional<std::vector<ElfSymbol>> read_symbols(int fd) {
  const auto elf = read_value<Elf64_Ehdr>(fd, 0);
  if (!elf || std::memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_shstrndx >= elf->e_shnum) {
    return std::nullopt;
  }
  std::vector<Elf64_Shdr> sections;
  for (unsigned i = 0; i < elf->e_shnum; ++i) {
    const auto section = read_value<Elf64_Shdr>(fd, elf->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return std::nullopt;
    sections.push_back(*section);
  }
  for (const Elf64_Shdr& table : sections) {
    if (table.sh_type != SHT_SYMTAB) continue;
    if (table.sh_link >= sections.size() || sections[table.sh_link].sh_type != SHT_STRTAB) {
      return std::nullopt;
    }
    std::vector<ElfSymbol> symbols;
    for (uint64_t i = 1; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto raw = read_value<Elf64_Sym>(fd, table.sh_offset + i * sizeof(Elf64_Sym));
      if (!raw || raw->st_shndx >= sections.size()) return std::nullopt;
      const auto name = read_string(fd, sections[table.sh_link], raw->st_name);
      const auto section =
          read_string(fd, sections[elf->e_shstrndx], sections[raw->st_shndx].sh_name);
      if (!name || !section) return std::nullopt;
      const auto binding = static_cast<unsigned char>(ELF64_ST_BIND(raw->st_info));
      const auto type = static_cast<unsigned char>(ELF64_ST_TYPE(raw->st_info));
      if ((binding == STB_LOCAL) != (i < table.sh_info)) return std::nullopt;
      symbols.push_back({*name, raw->st_value, raw->st_size, type, binding, *section});
    }
    return symbols;
  }
  return std::nullopt;
}

}  // namespace jitscope::test
