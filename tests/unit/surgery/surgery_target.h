// What the surgery tests share: the self-checking program as a target, and checks of its health.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "process/process.h"
#include "process/tasks.h"
#include "surgery/surgery.h"
#include "unit/process/target_program.h"

namespace jitscope {

inline Bytes bytes_of(std::initializer_list<int> values) {
  Bytes out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

// No thread is stopped or traced. Waits: a thread may be just about to run.
inline testing::AssertionResult runs_freely(pid_t pid) {
  std::string last;
  const bool free = eventually([&] {
    for (const pid_t tid : list_threads(pid)) {
      const auto status = read_status(tid);
      if (!status) continue;
      if (status->tracer_pid != 0 || status->state == 't' || status->state == 'T') {
        last =
            fmt::format("thread {}: state {}, tracer {}", tid, status->state, status->tracer_pid);
        return false;
      }
    }
    return true;
  });
  return free ? testing::AssertionSuccess() : testing::AssertionFailure() << last;
}

// The line of /proc/PID/task/TID/syscall: number, arguments, stack pointer and program counter of
// the call in which a thread sleeps; "running"; "" when it cannot be read.
inline std::string call_of_thread(pid_t pid, pid_t tid) {
  const auto text = read_text_file(fmt::format("/proc/{}/task/{}/syscall", pid, tid), 4096);
  return text ? *text : std::string();
}

class SelfCheckTarget {
 public:
  // `let_eintr_pass`: for tests that kill the tracer between the stop and the repair of a call.
  explicit SelfCheckTarget(int idle_threads = 0, bool let_eintr_pass = false)
      : program_(TargetProgram::path_of("selfcheck"),
                 {std::to_string(idle_threads), let_eintr_pass ? "eintr" : "strict"}) {
    const std::string ready = program_.read_line();
    unsigned long one = 0;
    unsigned long two = 0;
    if (std::sscanf(ready.c_str(), "ready %lx %lx", &one, &two) != 2) return;
    one_ = one;
    two_ = two;
    program_.write_line("check");  // all its threads are at work
    if (program_.read_line() != "alive") return;
    auto process = Process::open(program_.pid());
    if (process) process_ = std::make_unique<Process>(std::move(*process));
  }
  [[nodiscard]] bool ok() const { return process_ != nullptr; }
  [[nodiscard]] const Process& process() const { return *process_; }
  [[nodiscard]] TargetProgram& program() { return program_; }
  [[nodiscard]] pid_t pid() const { return program_.pid(); }

  // Every thread of the program makes progress and none has found anything wrong.
  testing::AssertionResult healthy() {
    if (auto free = runs_freely(pid()); !free) return free;
    program_.write_line("check");
    const std::string line = program_.read_line();
    if (line == "alive") return testing::AssertionSuccess();
    return testing::AssertionFailure() << "the target says: '" << line << "'";
  }
  // Ends it; its own verdict.
  testing::AssertionResult ends_well() {
    program_.write_line("end");
    const std::string line = program_.read_line();
    if (line == "ok") return testing::AssertionSuccess();
    return testing::AssertionFailure() << "the target says: '" << line << "'";
  }

  // patch_one: mov $1,%eax -> mov $2,%eax; and back.
  [[nodiscard]] Patch one_to_two() const {
    return {one_, bytes_of({0xb8, 1, 0, 0, 0, 0xc3}), bytes_of({0xb8, 2, 0, 0, 0}), {}, 5, false};
  }
  [[nodiscard]] Patch two_to_one() const {
    return {one_, bytes_of({0xb8, 2, 0, 0, 0, 0xc3}), bytes_of({0xb8, 1, 0, 0, 0}), {}, 5, false};
  }
  // patch_two: four small instructions -> mov $2,%eax and a 3-byte nop; and back.
  [[nodiscard]] Patch small_to_large() const { return {two_, small_, large_, {}, 8, true}; }
  [[nodiscard]] Patch large_to_small() const { return {two_, large_, small_, {}, 8, true}; }
  [[nodiscard]] uint64_t one() const { return one_; }
  [[nodiscard]] uint64_t two() const { return two_; }

  // A place near the program's code for a mapping.
  [[nodiscard]] uint64_t gap(uint64_t length = 4096) const {
    const auto maps = process_->maps();
    return maps ? find_gap_near(*maps, one_, one_ + 256, length) : 0;
  }

 private:
  const Bytes small_ = bytes_of({0x31, 0xc0, 0xf3, 0x90, 0xff, 0xc0, 0xff, 0xc0});
  const Bytes large_ = bytes_of({0xb8, 2, 0, 0, 0, 0x0f, 0x1f, 0x00});
  TargetProgram program_;
  uint64_t one_ = 0;
  uint64_t two_ = 0;
  std::unique_ptr<Process> process_;
};

// Tests that stop other processes need to be allowed to trace their own children, which every user
// is unless Yama or a seccomp filter forbids ptrace altogether.
#define JITSCOPE_REQUIRE_TARGET(target) ASSERT_TRUE((target).ok()) << "the target did not start"

// A file with `size` bytes of code in a directory that is mounted with exec.
class CodeFile {
 public:
  explicit CodeFile(size_t size = 4096) {
    std::string name = JITSCOPE_BINARY_DIR "/surgery-XXXXXX";
    fd_ = UniqueFd(::mkstemp(name.data()));
    path_ = name;
    const std::string code(size, '\xc3');
    (void)!::write(fd(), code.data(), code.size());
  }
  CodeFile(const CodeFile&) = delete;
  CodeFile& operator=(const CodeFile&) = delete;
  ~CodeFile() { ::unlink(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  std::string path_;
  UniqueFd fd_;
};

inline Status fill_with_returns(const UniqueFd& fd, size_t size) {
  const std::string code(size, '\xc3');
  if (::write(fd.get(), code.data(), size) == static_cast<ssize_t>(size)) return {};
  return fail(ErrorKind::not_possible, "cannot write");
}

inline Result<StopReport> map_code(const Process& process, const CodeFile& file, uint64_t address,
                                   uint64_t length = 4096) {
  return map_file(process, file.path(), file.fd(), {address, length, 0, {}});
}

}  // namespace jitscope
