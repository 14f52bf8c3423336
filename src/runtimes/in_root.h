// Opening paths inside another process's root directory so that symbolic links there cannot lead
// out of it, and acting as another user for the length of a scope.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jitscope {

// `path` (absolute) inside the directory `root`, "" = this process's own root. openat2 with
// RESOLVE_IN_ROOT (kernel 5.6); a plain open of root + path where that is missing. errno on
// failure.
[[nodiscard]] UniqueFd open_in_root(const std::string& root, const std::string& path, int flags);

// The calling thread (it alone: raw system calls) has another effective user and group until the
// end of the scope. Does nothing when it has them already. Capabilities are out of effect
// meanwhile: open what needs them before.
class ScopedIdentity {
 public:
  ScopedIdentity(uid_t uid, gid_t gid);
  ScopedIdentity(const ScopedIdentity&) = delete;
  ScopedIdentity& operator=(const ScopedIdentity&) = delete;
  ~ScopedIdentity();
  // not_permitted when the change was refused (nothing is changed then).
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  uid_t old_uid_;
  gid_t old_gid_;
  int old_dumpable_;
  bool changed_uid_ = false;
  bool changed_gid_ = false;
  Status status_;
};

}  // namespace jitscope
