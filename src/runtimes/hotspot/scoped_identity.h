// Acting as another user for the length of a scope.
#pragma once

#include <sys/types.h>

#include "base/result.h"

namespace jitscope {

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
