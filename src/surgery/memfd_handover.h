// A memfd that a borrowed thread of the target made, taken over so that it can be written to.
//
// The number that memfd_create returned means nothing: another thread of the target can put any
// file at that number meanwhile, also one that it may only read, and root would open it for
// writing. So the number is resolved once, by a descriptor without rights (O_PATH), which the
// target cannot change any more; that is shown to be the memfd just made; and only that descriptor
// is opened for writing. What tells it: the kernel's own file system for memfds, a name that nobody
// knew before, and not a byte in it.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "process/process.h"

namespace jitscope {

// "BASE-" and 128 random bits: a name that no memfd had until now.
Result<std::string> unique_memfd_name(const std::string& base);

// `number` is a descriptor of the target. Read-write; the memfd belongs to us from here on, nobody
// else may open it for writing, and it cannot shrink any more.
Result<UniqueFd> take_over_memfd(const Process& process, int number, const std::string& name);

}  // namespace jitscope
