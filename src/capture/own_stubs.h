// OwnStubs: the machine code that a runtime made for itself in a process's memory and that neither
// its perf map nor its jitdump lists (.NET's precodes, thunks and write barriers), written down in
// a file of its own, FOLDER/jit-PID-STARTTICKS.stubs.dump: when a recording is read all other
// sources come before it.
//
// It paces itself: looks cost at most 0.4 % of a CPU in the long run. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/body_file.h"
#include "capture/known_bodies.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

class OwnStubs {
 public:
  // `dump`: the file of the process's other code.
  OwnStubs(const std::string& dump, pid_t pid, std::shared_ptr<const UniqueFd> folder);

  // Looks if it is time to. What the first look finds counts from `begin` on. A runtime that has
  // none, a process that is gone: nothing.
  void look(const Process& process, Runtime runtime, uint64_t begin);
  // When the next look is due, CLOCK_MONOTONIC. UINT64_MAX: there is nothing to look for.
  [[nodiscard]] uint64_t due() const { return due_; }
  // The program that had them is no more.
  void program_ended(uint64_t time);
  // A last look, and the end of the file.
  void finish(const Process& process, uint64_t time);

 private:
  void look_now(const Process& process);
  Status write(const KnownBodies::Changes& changes, MemoryReader& memory);

  BodyFile file_;
  KnownBodies known_;
  Runtime runtime_ = Runtime::unknown;
  uint64_t begin_ = 0;
  uint64_t due_ = UINT64_MAX;
  uint64_t last_look_ = 0;  // begin of the look before; 0: there was none
  bool failed_ = false;     // the file cannot be written
};

}  // namespace jitscope
