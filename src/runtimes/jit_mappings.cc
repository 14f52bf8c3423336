// Which executable mappings no ELF file backs; see detect.h. Only the first four bytes of a file
// decide, read from the process's own mapping of them where there is one: opening a stranger's file
// may block.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "base/open_file.h"
#include "process/mapped_identity.h"
#include "runtimes/detect.h"

namespace jitscope {
namespace {

constexpr std::array<std::byte, 4> kElfMagic = {std::byte{0x7f}, std::byte{'E'}, std::byte{'L'},
                                                std::byte{'F'}};

std::optional<bool> file_is_elf(const std::string& path, const std::string& root = {}) {
  const auto file = open_regular_file(path, root);
  if (!file) {
    return file.error().kind == ErrorKind::damaged ? std::optional(false) : std::nullopt;
  }
  std::array<std::byte, 4> magic{};
  const ssize_t got = ::pread(file->fd.get(), magic.data(), magic.size(), 0);
  if (got < 0) return std::nullopt;
  return got == static_cast<ssize_t>(magic.size()) && magic == kElfMagic;
}

class ElfFiles {
 public:
  ElfFiles(const Process& process, const std::vector<Mapping>& maps)
      : process_(process), maps_(maps) {}

  // nullopt when it cannot be told.
  std::optional<bool> is_elf(const Mapping& mapping) {
    const auto key = std::make_pair(
        (static_cast<uint64_t>(mapping.dev_major) << 32U) | mapping.dev_minor, mapping.inode);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    const std::optional<bool> answer = look(mapping);
    known_.emplace(key, answer);
    return answer;
  }

 private:
  std::optional<bool> look(const Mapping& mapping) {
    for (const Mapping& other : maps_) {
      if (other.offset != 0 || !other.readable || !same_file(other, mapping)) continue;
      std::array<std::byte, 4> magic{};
      if (process_.memory().read(other.start, magic)) return magic == kElfMagic;
    }
    if (const auto answer = file_is_elf(mapping.map_files_path(process_.pid()))) return answer;
    if (mapping.deleted || !mapping.path.starts_with('/')) return std::nullopt;
    return file_is_elf(mapping.path, root_of(process_.pid()));
  }

  const Process& process_;
  const std::vector<Mapping>& maps_;
  std::map<std::pair<uint64_t, uint64_t>, std::optional<bool>> known_;
};

// Kernel mappings carry names in brackets; [heap], [stack] and named anonymous memory are the
// program's.
bool kernel_mapping(std::string_view path) {
  return path.starts_with('[') && path != "[heap]" && !path.starts_with("[stack") &&
         !path.starts_with("[anon");
}

}  // namespace

std::vector<JitMapping> find_jit_mappings(const Process& process,
                                          const std::vector<Mapping>& maps) {
  std::vector<JitMapping> found;
  ElfFiles files(process, maps);
  for (const Mapping& mapping : maps) {
    if (!mapping.executable || kernel_mapping(mapping.path)) continue;
    const char* kind = nullptr;
    if (!mapping.file_backed()) {
      kind = "anonymous";
    } else if (mapping.path == "/dev/zero" || mapping.path.starts_with("/SYSV")) {
      kind = "shared /dev/zero";  // MAP_SHARED | MAP_ANONYMOUS shows as /dev/zero (deleted)
    } else {
      const std::optional<bool> elf = files.is_elf(mapping);
      if (elf.value_or(false)) continue;
      if (mapping.path.starts_with("/memfd:")) {
        kind = "memfd";
      } else if (mapping.deleted) {
        kind = "deleted file";
      } else if (elf) {
        kind = "not ELF";
      } else {
        continue;  // a file that cannot be looked into: most likely a library
      }
    }
    found.push_back({mapping, kind});
  }
  return found;
}

}  // namespace jitscope
