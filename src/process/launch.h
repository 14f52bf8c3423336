// Launched: a command that is started but not yet run: its process exists and waits, so that events
// can be opened for it before its first instruction.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jitscope {

class Launched {
 public:
  // The process, with our standard input and output, in our process group. It ends by itself when
  // this process does before run(). Call before threads are started.
  static Result<Launched> start(const std::vector<std::string>& command);
  Launched(Launched&&) = default;
  Launched& operator=(Launched&&) = default;
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;
  ~Launched() = default;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Has it exec the command. An error when that is not possible (no such program).
  Status run();
  // run() was called and had no error.
  [[nodiscard]] bool running() const { return running_; }
  // Its wait status once it has ended; does not wait.
  std::optional<int> ended();

 private:
  Launched() = default;
  pid_t pid_ = 0;
  UniqueFd go_;
  UniqueFd failure_;
  std::string name_;
  bool running_ = false;
  std::optional<int> status_;
};

}  // namespace jitscope
