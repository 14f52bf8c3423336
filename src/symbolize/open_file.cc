#include "symbolize/open_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <cerrno>

namespace jitscope {
namespace {

// O_PATH opens nothing yet: what the name stands for can be looked at first.
UniqueFd locate(const std::string& path, const std::string& root) {
  constexpr int flags = O_PATH | O_CLOEXEC;
  if (root.empty() || root == "/") return UniqueFd(::open(path.c_str(), flags));
  const UniqueFd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) return {};
  open_how how = {};
  how.flags = flags;
  how.resolve = RESOLVE_IN_ROOT;
  const auto found = ::syscall(SYS_openat2, top.get(), path.c_str(), &how, sizeof(how));
  if (found >= 0) return UniqueFd(static_cast<int>(found));
  if (errno != ENOSYS && errno != EPERM) return {};
  // Before Linux 5.6, or under a seccomp filter: absolute links lead out of the root.
  return UniqueFd(::open((root + "/" + path).c_str(), flags));
}

}  // namespace

Result<OpenedFile> open_regular_file(const std::string& path, const std::string& root) {
  const auto failed = [&path] {
    const int code = errno;
    Error error = system_error("cannot open", path, code);
    if (code == ENOTDIR) error.kind = ErrorKind::not_found;
    return fail(std::move(error));
  };
  const UniqueFd place = locate(path, root);
  if (!place) return failed();
  OpenedFile file;
  if (::fstat(place.get(), &file.status) != 0) return failed();
  if (!S_ISREG(file.status.st_mode)) return fail(ErrorKind::damaged, "is no regular file", path);
  const std::string self = "/proc/self/fd/" + std::to_string(place.get());
  file.fd.reset(::open(self.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.fd) return failed();
  return file;
}

}  // namespace jitscope
