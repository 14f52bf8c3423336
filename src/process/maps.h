// The mappings of a process, as /proc/PID/maps lists them (fs/proc/task_mmu.c, show_map_vma).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace jitscope {

struct Mapping {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t offset = 0;  // in the file
  uint64_t inode = 0;   // 0 for anonymous memory
  uint32_t dev_major = 0;
  uint32_t dev_minor = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  bool deleted = false;  // the path ended in " (deleted)", which `path` no longer has
  std::string path;      // "", "[heap]", "/usr/lib/...", "/memfd:doublemapper", "/dev/zero", ...

  [[nodiscard]] uint64_t size() const { return end - start; }
  [[nodiscard]] bool contains(uint64_t address) const { return address >= start && address < end; }
  [[nodiscard]] bool file_backed() const { return inode != 0; }
  // "/proc/PID/map_files/START-END": opens the mapped file itself, also when deleted or in another
  // mount namespace (needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE).
  [[nodiscard]] std::string map_files_path(pid_t pid) const;
};

// Parses the text of a maps file; lines that make no sense are skipped. Sorted by address.
[[nodiscard]] std::vector<Mapping> parse_maps(std::string_view text);
Result<std::vector<Mapping>> read_maps(pid_t pid);
// The mapping that holds `address`, or nullptr.
[[nodiscard]] const Mapping* find_mapping(const std::vector<Mapping>& maps, uint64_t address);

// A free, page-aligned range of `length` bytes such that every byte of it is within a signed 32-bit
// displacement of every byte of [low, high) (so `jmp rel32` reaches both ways), above the kernel's
// mmap_min_addr. Prefers what is near. 0 when there is none.
[[nodiscard]] uint64_t find_gap_near(const std::vector<Mapping>& maps, uint64_t low, uint64_t high,
                                     uint64_t length);

// Whether every byte of [address, address + length) is that near to every byte of [low, high).
[[nodiscard]] bool within_reach(uint64_t address, uint64_t length, uint64_t low, uint64_t high);

}  // namespace jitscope
