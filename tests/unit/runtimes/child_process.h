// A program that a test starts and that ends with the test; and waiting for conditions.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace jitscope {

class ChildProcess {
 public:
  // `prepare` runs in the child before exec; the child's output is dropped.
  explicit ChildProcess(std::vector<std::string> arguments,
                        const std::function<void()>& prepare = {},
                        const std::string& directory = "/") {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    if (::chdir(directory.c_str()) != 0) ::_exit(126);
    if (std::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(126);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(126);
    if (prepare) prepare();
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    if (!reaped_) ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool running() {
    if (!reaped_ && ::waitpid(pid_, nullptr, WNOHANG) != 0) {
      reaped_ = true;
      pid_ = -1;
    }
    return !reaped_;
  }

 private:
  pid_t pid_ = -1;
  bool reaped_ = false;
};

// Until the condition holds, at most 60 s.
inline bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace jitscope
