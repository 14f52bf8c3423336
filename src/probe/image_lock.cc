#include "probe/image_lock.h"

#include <fcntl.h>
#include <unistd.h>

namespace jitscope {
namespace {

struct flock whole_file() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Status hold_image(int fd) {
  struct flock lock = whole_file();
  if (::fcntl(fd, F_OFD_SETLK, &lock) != 0) {
    return fail(system_error("cannot lock the live image's file"));
  }
  return {};
}

bool image_is_held(int fd) {
  struct flock lock = whole_file();
  // Says which lock would be in the way; where there are read locks there is no write lock.
  return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

}  // namespace jitscope
