// openat2 and per-thread credentials; see in_root.h.
#include "runtimes/in_root.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace jitscope {
namespace {

constexpr auto kKeep = static_cast<unsigned>(-1);

// glibc's wrappers change every thread of the process (setxid); the system calls change one.
bool set_effective_user(uid_t uid) {
  return ::syscall(SYS_setresuid, kKeep, uid, kKeep) == 0;
}
bool set_effective_group(gid_t gid) {
  return ::syscall(SYS_setresgid, kKeep, gid, kKeep) == 0;
}

}  // namespace

UniqueFd open_in_root(const std::string& root, const std::string& path, int flags) {
  if (root.empty()) return UniqueFd(::open(path.c_str(), flags | O_CLOEXEC));
  const UniqueFd directory(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return {};
  open_how how{};
  how.flags = static_cast<uint64_t>(static_cast<unsigned>(flags | O_CLOEXEC));
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const long fd = ::syscall(SYS_openat2, directory.get(), path.c_str(), &how, sizeof how);
  if (fd >= 0 || errno != ENOSYS) return UniqueFd(static_cast<int>(fd));
  return UniqueFd(::open((root + path).c_str(), flags | O_CLOEXEC));
}

ScopedIdentity::ScopedIdentity(uid_t uid, gid_t gid)
    : old_uid_(::geteuid()), old_gid_(::getegid()), old_dumpable_(::prctl(PR_GET_DUMPABLE)) {
  if (gid != old_gid_) changed_gid_ = set_effective_group(gid);
  if (gid == old_gid_ || changed_gid_) {
    if (uid != old_uid_) changed_uid_ = set_effective_user(uid);
    if (uid == old_uid_ || changed_uid_) return;
  }
  status_ = fail(system_error(fmt::format("cannot act as user {} and group {}", uid, gid))
                     .advise("run as that user, or as root"));
}

ScopedIdentity::~ScopedIdentity() {
  // A thread that went on with the wrong user would do anything after this in that user's name.
  if (changed_uid_ && !set_effective_user(old_uid_)) std::abort();
  if (changed_gid_ && !set_effective_group(old_gid_)) std::abort();
  // The kernel withdraws it at every change of the effective user (kernel/cred.c, commit_creds).
  if (changed_uid_ || changed_gid_) {
    if (old_dumpable_ == 1) ::prctl(PR_SET_DUMPABLE, 1);
  }
}

}  // namespace jitscope
