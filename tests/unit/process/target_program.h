// TargetProgram: a child process for tests: its input is a pipe, its output is collected. Killed by
// its own pid at the end. And eventually(): waits for a condition instead of for a time.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace jitscope {

inline bool eventually(const std::function<bool()>& condition,
                       std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class TargetProgram {
 public:
  // `file` is looked up in PATH when it has no slash; `options` are its arguments from 1 on.
  explicit TargetProgram(const std::string& file, const std::vector<std::string>& options = {}) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) std::abort();
    std::vector<char*> argv = {const_cast<char*>(file.c_str())};
    for (const std::string& option : options) argv.push_back(const_cast<char*>(option.c_str()));
    argv.push_back(nullptr);
    std::array<int, 2> started{};
    if (::pipe2(started.data(), O_CLOEXEC) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::execvp(file.c_str(), argv.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    ::close(started[1]);
    input_ = in[1];
    output_ = out[0];
    char byte = 0;
    (void)!::read(started[0], &byte, 1);  // ends when exec has closed the other side
    ::close(started[0]);
  }
  // The file of one of tests/programs.
  static std::string path_of(const std::string& name) {
    return JITSCOPE_BINARY_DIR "/programs/" + name;
  }

  TargetProgram(const TargetProgram&) = delete;
  TargetProgram& operator=(const TargetProgram&) = delete;
  ~TargetProgram() {
    kill();
    (void)wait();
    ::close(input_);
    ::close(output_);
  }

  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill(int signal = SIGKILL) const {
    if (!reaped_) ::kill(pid_, signal);
  }
  void write_line(std::string_view text) const {
    const std::string line = std::string(text) + "\n";
    (void)!::write(input_, line.data(), line.size());
  }
  // The next line of its output, without '\n'; "" at the end or after `limit`.
  std::string read_line(std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (true) {
      const size_t at = pending_.find('\n');
      if (at != std::string::npos) {
        std::string line = pending_.substr(0, at);
        pending_.erase(0, at + 1);
        return line;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      if (left.count() <= 0) return {};
      pollfd entry{output_, POLLIN, 0};
      if (::poll(&entry, 1, static_cast<int>(left.count())) <= 0) continue;
      std::array<char, 4096> buffer{};
      const ssize_t got = ::read(output_, buffer.data(), buffer.size());
      if (got <= 0) return {};
      pending_.append(buffer.data(), static_cast<size_t>(got));
    }
  }
  // Lines up to one that begins with `prefix` (returned), or "".
  std::string read_until(std::string_view prefix) {
    while (true) {
      std::string line = read_line();
      if (line.empty() || line.starts_with(prefix)) return line;
      skipped_ += line + "\n";
    }
  }
  // What read_until passed over.
  [[nodiscard]] const std::string& skipped() const { return skipped_; }
  void close_input() {
    ::close(input_);
    input_ = -1;
  }
  // The wait status; waits for the exit.
  int wait() {
    if (!reaped_) {
      ::waitpid(pid_, &status_, __WALL);
      reaped_ = true;
    }
    return status_;
  }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  int status_ = 0;
  bool reaped_ = false;
  std::string pending_;
  std::string skipped_;
};

}  // namespace jitscope
