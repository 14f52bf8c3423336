#include "process/launch.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace jitscope {
namespace {

constexpr int kNotRun = 127;

// The child, from fork to exec: system calls only.
[[noreturn]] void wait_and_exec(int go, int failure, char* const* arguments) {
  // Handlers do not survive exec, what is ignored does.
  (void)::signal(SIGPIPE, SIG_DFL);
  char byte = 0;
  if (::read(go, &byte, 1) != 1) ::_exit(kNotRun);
  ::execvp(arguments[0], arguments);
  const int code = errno;
  (void)!::write(failure, &code, sizeof(code));
  ::_exit(kNotRun);
}

Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(system_error("cannot make a pipe"));
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

}  // namespace

Result<Launched> Launched::start(const std::vector<std::string>& command) {
  if (command.empty()) return fail(ErrorKind::usage, "there is no command to run");
  JITSCOPE_ASSIGN(auto go, make_pipe());
  JITSCOPE_ASSIGN(auto failure, make_pipe());
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) return fail(system_error("cannot start a process"));
  if (pid == 0) {
    // Held open here, the waiting child would never see the end of this process.
    ::close(go.second.release());
    wait_and_exec(go.first.get(), failure.second.get(), arguments.data());
  }
  Launched launched;
  launched.pid_ = pid;
  launched.go_ = std::move(go.second);
  launched.failure_ = std::move(failure.first);
  launched.name_ = command.front();
  return launched;
}

Status Launched::run() {
  const char byte = 1;
  if (::write(go_.get(), &byte, 1) != 1) return fail(system_error("the command did not start"));
  go_.reset();
  int code = 0;
  ssize_t got = 0;
  // Nothing to read: exec has closed it.
  do {
    got = ::read(failure_.get(), &code, sizeof(code));
  } while (got < 0 && errno == EINTR);
  failure_.reset();
  running_ = got != static_cast<ssize_t>(sizeof(code));
  if (running_) return {};
  Error error = system_error("cannot run the command", name_, code);
  if (code == ENOENT) error.kind = ErrorKind::usage;
  return fail(std::move(error));
}

std::optional<int> Launched::ended() {
  if (status_) return status_;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

}  // namespace jitscope
