// Which file something is: device and inode. No other file has these numbers while it is open or
// has a name.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

namespace jitscope {

struct DeviceAndInode {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const DeviceAndInode&) const = default;
};

[[nodiscard]] inline DeviceAndInode identity_of(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

[[nodiscard]] inline bool same_file(const struct stat& one, const struct stat& other) {
  return identity_of(one) == identity_of(other);
}

}  // namespace jitscope
