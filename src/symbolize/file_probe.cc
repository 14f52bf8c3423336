// What a mapped file is, told from its first bytes.
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

#include "base/open_file.h"
#include "symbolize/elf_image.h"

namespace jitscope {

FileProbe probe_file(const std::string& path, const std::string& root) {
  FileProbe probe;
  const auto file = open_regular_file(path, root);
  if (!file) {
    const Error& error = file.error();
    probe.why = error.system_errno != 0 ? std::strerror(error.system_errno) : error.what;
    return probe;
  }
  std::array<char, 4> bytes = {};
  const ssize_t got = ::pread(file->fd.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) {
    probe.why = std::strerror(errno);
    return probe;
  }
  const std::string_view start(bytes.data(), static_cast<size_t>(got));
  probe.format = FileFormat::other;
  if (start == "\177ELF") probe.format = FileFormat::elf;
  if (start.starts_with("MZ")) probe.format = FileFormat::pe;
  if (start == "DTiJ" || start == "JiTD") probe.format = FileFormat::jitdump;
  return probe;
}

}  // namespace jitscope
