#include "cli/pager.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ranges>
#include <vector>

#include "base/write_all.h"
#include "cli/options.h"
#include "cli/terminal.h"

namespace jitscope {
namespace {

bool forbidden = false;

constexpr std::array<int, Pager::kSignals> kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// For the signal handler, which may run in any thread.
std::atomic<pid_t> pager_pid = 0;
std::atomic<int> nowhere = -1;
std::atomic<bool> spare_interrupt = false;
std::atomic<int> ended_by = 0;
static_assert(std::atomic<pid_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

// Its wait status; 0 when another has waited for it.
int wait_for_pager(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return 0;
  }
  return status;
}

void end_with_pager(int signal) {
  const int code = errno;
  if (signal == SIGINT && spare_interrupt.exchange(false)) return;
  ended_by = signal;
  // Not closed: a file that another thread opens would become standard output.
  ::dup2(nowhere, STDOUT_FILENO);
  if (pager_pid != 0) wait_for_pager(pager_pid);
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  ::raise(signal);
  errno = code;
}

bool in_path(std::string_view program) {
  const char* path = std::getenv("PATH");
  for (const auto part : std::views::split(std::string_view(path == nullptr ? "" : path), ':')) {
    const std::string file = std::string(part.begin(), part.end()) + "/" + std::string(program);
    if (file.starts_with('/') && ::access(file.c_str(), X_OK) == 0) return true;
  }
  return false;
}

// "": none.
std::string chosen_pager() {
  const char* given = std::getenv("JITSCOPE_PAGER");
  if (given == nullptr) given = std::getenv("PAGER");
  if (given != nullptr) {
    const std::string command = given;
    return command == "cat" || command.find_first_not_of(" \t\n") == std::string::npos ? ""
                                                                                       : command;
  }
  // less asks before it shows anything on a terminal that knows nothing.
  return terminal().dumb || !in_path("less") ? "" : "less";
}

// Of plain words alone: without a shell around it, which Ctrl-C would end before its pager.
std::string shell_text(const std::string& command) {
  const bool plain = std::ranges::all_of(command, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._+- ").contains(c);
  });
  return plain ? "exec " + command : command;
}

// 0 when it cannot be started.
pid_t spawn(const std::string& command, int input) {
  std::string text = shell_text(command);
  std::string shell = "sh";
  std::string option = "-c";
  std::array<char*, 4> words = {shell.data(), option.data(), text.data(), nullptr};
  // Leave when all fits the screen, pass colours, leave the text on the screen: as git has it.
  std::string less = "LESS=FRX";
  std::vector<char*> environment;
  for (char** each = environ; *each != nullptr; ++each) environment.push_back(*each);
  if (std::getenv("LESS") == nullptr) environment.push_back(less.data());
  environment.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t ignored;
  ::sigemptyset(&ignored);
  ::sigaddset(&ignored, SIGPIPE);
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  ::posix_spawnattr_setsigdefault(&attributes, &ignored);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int code =
      ::posix_spawn(&pid, "/bin/sh", &files, &attributes, words.data(), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return code == 0 ? pid : 0;
}

// A shell's way to say that there is no such program, or that it may not be run.
bool was_not_run(int status) {
  return WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126);
}

}  // namespace

void add_no_pager_option(CLI::App& command) {
  command.add_flag("--no-pager", forbidden, "Write to the terminal without $PAGER");
}

bool page_output() {
  return pager().prepare();
}

Pager& pager() {
  static Pager only;
  return only;
}

bool Pager::prepare() {
  if (forbidden || !terminal().there) return false;
  command_ = chosen_pager();
  wanted_ = !command_.empty();
  return wanted_;
}

bool Pager::begin() {
  if (wanted_) running_ = start();
  wanted_ = false;
  return !left_;
}

bool Pager::start() {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  const UniqueFd from(ends[0]);
  const UniqueFd into(ends[1]);
  terminal_ = UniqueFd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (!terminal_ || nowhere < 0) return false;
  take_signals();
  pager_pid = spawn(command_, from.get());
  if (pager_pid == 0) {
    give_signals_back();
    return false;
  }
  ::dup2(into.get(), STDOUT_FILENO);
  return true;
}

void Pager::take_signals() {
  struct sigaction action = {};
  action.sa_handler = end_with_pager;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kEnding.size(); ++i) {
    ::sigaction(kEnding[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) continue;
    // The recording's writer is to end first (prepare_signals()).
    if (kEnding[i] == SIGINT) spare_interrupt = before_[i].sa_handler != SIG_DFL;
    ::sigaction(kEnding[i], &action, nullptr);
  }
}

void Pager::give_signals_back() {
  for (size_t i = 0; i < kEnding.size(); ++i) ::sigaction(kEnding[i], &before_[i], nullptr);
}

void Pager::wrote(std::string_view text) {
  // What a pipe holds.
  constexpr size_t most = 64U << 10U;
  if (!running_ || !unread_) return;
  unread_ = written_.size() + text.size() <= most;
  if (unread_) {
    written_ += text;
  } else {
    written_.clear();
  }
}

bool Pager::closed() {
  if (!running_) return false;
  const bool plain = finish();
  left_ = !plain;
  return plain;
}

bool Pager::finish() {
  wanted_ = false;
  if (!running_) return false;
  running_ = false;
  // The pipe's last end: the pager sees the end of the text.
  ::dup2(terminal_.get(), STDOUT_FILENO);
  const int status = wait_for_pager(pager_pid);
  pager_pid = 0;
  if (ended_by != 0) ::raise(ended_by);  // its handler runs in another thread
  give_signals_back();
  if (!was_not_run(status) || !unread_) return false;
  (void)write_all(STDOUT_FILENO, written_);
  return true;
}

}  // namespace jitscope
