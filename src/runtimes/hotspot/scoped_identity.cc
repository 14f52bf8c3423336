// Per-thread credentials; see scoped_identity.h.
#include "runtimes/hotspot/scoped_identity.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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
