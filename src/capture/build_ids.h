// BuildIds: what the files that were mapped during a recording were, for its build-id section, so
// that a file that is replaced later is not taken for the one that ran.
//
// The files are looked at when the recording ends, and only counted when they are still the ones
// that were mapped (by inode); a path that meant two files is left out.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jitscope {

class BuildIds {
 public:
  // More files than this are not looked at.
  static constexpr size_t kMostFiles = 16384;

  // An executable mapping of a file (others are passed over).
  void saw(pid_t pid, std::string_view path, uint64_t inode);
  // The payload of the section, the kernel's own id first when `kernel`.
  [[nodiscard]] std::string section(bool kernel) const;

 private:
  struct File {
    pid_t pid = 0;  // one that mapped it: its root directory leads to the file
    uint64_t inode = 0;
    bool several = false;
  };
  std::map<std::string, File, std::less<>> files_;
};

// The GNU build-id among ELF notes (/sys/kernel/notes).
[[nodiscard]] std::optional<std::vector<std::byte>> build_id_of_notes(
    std::span<const std::byte> notes);

}  // namespace jitscope
