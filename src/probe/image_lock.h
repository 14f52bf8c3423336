// Who works with the file of an image: a write lock on its open file (OFD), which ends with the
// jitscope that holds it.
//
// Only who may write the file can hold a write lock: us, and root. Anybody may take a read lock on
// a file that he may read, or a flock, so neither tells anything. The lock is taken while nobody
// else can open the file yet; from then on no read lock can come beside it.
#pragma once

#include "base/result.h"

namespace jitscope {

// On a new file that nobody else may open.
Status hold_image(int fd);
// A living jitscope holds it. A descriptor that may only read will do.
[[nodiscard]] bool image_is_held(int fd);

}  // namespace jitscope
