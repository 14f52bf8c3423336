// Reads /proc/PID/task and /proc/PID/stat.
#include "process/tasks.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"
#include "process/process.h"

namespace jitscope {
namespace {

// Directory entries whose names are numbers: the pids of /proc, the tids of a task directory.
std::vector<pid_t> numeric_entries(const std::string& directory) {
  std::vector<pid_t> ids;
  std::error_code error;
  std::filesystem::directory_iterator it(directory, error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const auto id = parse_decimal(it->path().filename().native());
    if (id && *id > 0 && *id <= INT32_MAX) ids.push_back(static_cast<pid_t>(*id));
  }
  std::ranges::sort(ids);
  return ids;
}

std::string user_name(uid_t uid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return fmt::format("uid {}", uid);
  }
  return fmt::format("{} (uid {})", entry.pw_name, uid);
}

}  // namespace

Result<TaskStat> parse_task_stat(std::string_view text) {
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return fail(ErrorKind::damaged, "no command name in a stat file");
  }
  TaskStat stat;
  stat.comm = text.substr(open + 1, close - open - 1);
  // The fields behind the name are numbered from 3 (state).
  std::string_view rest = text.substr(close + 1);
  unsigned field = 2;
  while (!rest.empty() && field < 22) {
    const size_t begin = rest.find_first_not_of(" \n");
    if (begin == std::string_view::npos) break;
    const size_t end = std::min(rest.find_first_of(" \n", begin), rest.size());
    const std::string_view word = rest.substr(begin, end - begin);
    rest = rest.substr(end);
    ++field;
    if (field == 3) stat.state = word.front();
    if (field == 9) stat.flags = parse_decimal(word).value_or(0);
    if (field == 22) stat.start_ticks = parse_decimal(word).value_or(0);
  }
  if (field < 22) return fail(ErrorKind::damaged, "a stat file with too few fields");
  return stat;
}

Result<TaskStat> read_task_stat(pid_t pid, pid_t tid) {
  auto text = read_text_file(fmt::format("/proc/{}/task/{}/stat", pid, tid), 1U << 16U);
  if (!text) {
    return fail(ErrorKind::target_gone, "the thread has exited", fmt::format("thread {}", tid));
  }
  return parse_task_stat(*text);
}

std::vector<pid_t> list_threads(pid_t pid) {
  return numeric_entries(fmt::format("/proc/{}/task", pid));
}

std::vector<pid_t> list_processes() {
  return numeric_entries("/proc");
}

pid_t live_thread(pid_t pid) {
  const auto has_memory = [pid](pid_t tid) {
    const auto stat = read_task_stat(pid, tid);
    return stat && stat->state != 'Z' && stat->state != 'X';
  };
  if (has_memory(pid)) return pid;
  for (const pid_t tid : list_threads(pid)) {
    if (tid != pid && has_memory(tid)) return tid;
  }
  return pid;
}

std::string task_path(pid_t pid, std::string_view name) {
  const pid_t tid = live_thread(pid);
  if (tid == pid) return fmt::format("/proc/{}/{}", pid, name);
  return fmt::format("/proc/{}/task/{}/{}", pid, tid, name);
}

Error permission_error(std::string_view what, pid_t pid, int code) {
  Error error;
  error.kind = ErrorKind::not_permitted;
  error.system_errno = code;
  const auto status = read_status(pid);
  error.what = fmt::format("{} of process {}{} is not permitted", what, pid,
                           status ? fmt::format(" ({})", status->name) : "");
  error.hint = "run as root or with CAP_SYS_PTRACE";
  if (status) {
    error.hint =
        status->uid != ::geteuid()
            ? fmt::format("it belongs to {}: run as that user, as root, or with CAP_SYS_PTRACE",
                          user_name(status->uid))
            : "it is yours, but not dumpable or with more privileges than you: run as root "
              "or with CAP_SYS_PTRACE";
  }
  const auto yama = read_text_file("/proc/sys/kernel/yama/ptrace_scope", 64);
  if (yama && !yama->empty() && yama->front() != '0') {
    error.hint +=
        fmt::format("; kernel.yama.ptrace_scope is {} (0 lets a user trace all his processes{})",
                    yama->front(), yama->front() == '3' ? "; 3 needs a reboot to leave" : "");
  }
  return error;
}

}  // namespace jitscope
