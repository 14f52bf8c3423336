// Starting JDK tools and Java programs for tests: a process whose output is read line by line and
// which is killed, by its pid, when the test is over.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace jitscope::hotspot::test {

class JavaProcess {
 public:
  explicit JavaProcess(const std::vector<std::string>& arguments) {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    output_ = UniqueFd(ends[0]);
    UniqueFd write_end(ends[1]);
    std::vector<char*> argv;
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDERR_FILENO);
    if (posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
  }
  JavaProcess(const JavaProcess&) = delete;
  JavaProcess& operator=(const JavaProcess&) = delete;
  ~JavaProcess() { kill_and_wait(); }

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::string& output() const { return text_; }

  // Reads until the output holds `text`; false when it ended (or a minute passed) before.
  bool wait_for(const std::string& text) {
    while (text_.find(text) == std::string::npos) {
      if (!read_more()) return false;
    }
    return true;
  }
  // Reads all output and waits; the exit status, or -1.
  int finish() {
    while (read_more()) {
    }
    int status = -1;
    if (pid_ > 0) waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void kill_and_wait() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  bool read_more() {
    pollfd wait{output_.get(), POLLIN, 0};
    char buffer[65536];
    if (!output_ || poll(&wait, 1, 60'000) <= 0) return false;
    const ssize_t got = read(output_.get(), buffer, sizeof buffer);
    if (got <= 0) return false;
    text_.append(buffer, static_cast<size_t>(got));
    return true;
  }

  pid_t pid_ = -1;
  UniqueFd output_;
  std::string text_;
};

// Homes of the JDKs (with java, javac and jcmd) of this machine, each once.
inline std::vector<std::string> find_jdks() {
  namespace fs = std::filesystem;
  std::vector<fs::path> candidates;
  if (const char* home = std::getenv("JAVA_HOME")) candidates.emplace_back(home);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/lib/jvm", error)) {
    candidates.push_back(entry.path());
  }
  std::vector<std::string> jdks;
  for (const fs::path& candidate : candidates) {
    const fs::path home = fs::canonical(candidate, error);
    if (error || !fs::exists(home / "bin/java", error) || !fs::exists(home / "bin/javac", error) ||
        !fs::exists(home / "bin/jcmd", error)) {
      continue;
    }
    if (std::ranges::find(jdks, home.string()) == jdks.end()) jdks.push_back(home.string());
  }
  std::ranges::sort(jdks);
  return jdks;
}

}  // namespace jitscope::hotspot::test
