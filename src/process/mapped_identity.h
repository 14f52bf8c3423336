// Which file lies mapped somewhere: device and inode as the kernel lists them for mappings.
//
// fstat shows other numbers than /proc/PID/maps on some file systems (btrfs gives each subvolume a
// device of its own, overlayfs shows one of its layers). So a descriptor is mapped here for a
// moment and read off the own list: both sides are then the kernel's word on the same thing. While
// the descriptor is open, no other file can have these numbers.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "process/maps.h"
#include "process/process.h"

namespace jitscope {

struct MappedIdentity {
  uint32_t dev_major = 0;
  uint32_t dev_minor = 0;
  uint64_t inode = 0;
  bool operator==(const MappedIdentity&) const = default;
};

[[nodiscard]] MappedIdentity identity_of(const Mapping& mapping);
[[nodiscard]] inline bool same_file(const Mapping& one, const Mapping& other) {
  return identity_of(one) == identity_of(other);
}
// Of a file by a descriptor that may read.
Result<MappedIdentity> identity_of_file(int fd);

// Whether descriptor `number` of the target is the file of `own`. It holds for as long as all of
// the target is stopped; else the target may exchange it at once, and only the mapping tells.
Status check_descriptor(const Process& process, int number, int own);

}  // namespace jitscope
