// One live process through /proc and a pidfd.
#include "process/process.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/byte_cursor.h"
#include "base/clock.h"
#include "base/mapped_file.h"
#include "base/same_file.h"
#include "process/tasks.h"

namespace jitscope {
namespace {

struct StatusText {
  ProcessStatus status;
  pid_t tgid = 0;
};

// Numbers of a status line, separated by tabs or spaces; 0 where it has fewer.
uint64_t number(std::string_view value, unsigned index) {
  while (true) {
    const size_t begin = value.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return 0;
    const size_t end = std::min(value.find_first_of(" \t", begin), value.size());
    if (index == 0) return parse_decimal(value.substr(begin, end - begin)).value_or(0);
    --index;
    value.remove_prefix(end);
  }
}

uint64_t last_number(std::string_view value) {
  const size_t begin = value.find_last_of(" \t");
  return number(begin == std::string_view::npos ? value : value.substr(begin), 0);
}

std::string_view trim_left(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// fs/proc/array.c, proc_pid_status.
StatusText parse_status(std::string_view text) {
  StatusText out;
  ProcessStatus& status = out.status;
  ByteCursor cursor(text);
  while (!cursor.at_end()) {
    const std::string_view line = cursor.line();
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, colon);
    const std::string_view value = line.substr(colon + 1);
    if (key == "Name") {
      status.name = trim_left(value);
    } else if (key == "State") {
      const std::string_view state = trim_left(value);
      if (!state.empty()) status.state = state.front();
    } else if (key == "Tgid") {
      out.tgid = static_cast<pid_t>(number(value, 0));
    } else if (key == "TracerPid") {
      status.tracer_pid = static_cast<pid_t>(number(value, 0));
    } else if (key == "Uid") {
      status.uid = static_cast<uid_t>(number(value, 1));
    } else if (key == "Gid") {
      status.gid = static_cast<gid_t>(number(value, 1));
    } else if (key == "Seccomp") {
      status.seccomp = static_cast<int>(number(value, 0));
    } else if (key == "NSpid") {
      status.ns_pid = static_cast<pid_t>(last_number(value));
    } else if (key == "Threads") {
      status.threads = static_cast<unsigned>(number(value, 0));
    }
  }
  return out;
}

Result<StatusText> read_status_text(pid_t pid) {
  const std::string path = fmt::format("/proc/{}/status", pid);
  auto text = read_text_file(path, 1U << 20U);
  if (!text) {
    const int code = text.error().system_errno;
    if (code == ENOENT || code == ESRCH) {
      return fail(ErrorKind::not_found, fmt::format("no process with pid {}", pid), path,
                  "it may have exited, or be hidden (hidepid), or live in another pid namespace");
    }
    return fail(std::move(text.error()));
  }
  return parse_status(*text);
}

Error gone(pid_t pid, std::string_view how) {
  return Error{ErrorKind::target_gone, fmt::format("process {} {}", pid, how),
               fmt::format("pid {}", pid), "", 0};
}

// Device and inode of the executable, and the auxiliary vector, whose addresses every exec chooses
// anew. Empty where it may not be read.
std::string identify_image(pid_t pid, uint64_t* random_at = nullptr) {
  // As it is known here: a file system that does not answer is not asked.
  struct statx info{};
  std::string identity;
  if (::statx(AT_FDCWD, task_path(pid, "exe").c_str(), AT_STATX_DONT_SYNC, STATX_INO, &info) == 0) {
    identity = fmt::format("{}:{}:{}", info.stx_dev_major, info.stx_dev_minor, info.stx_ino);
  }
  if (const auto auxv = read_text_file(task_path(pid, "auxv"), 1U << 16U)) {
    const auto bytes = std::as_bytes(std::span(auxv->data(), auxv->size()));
    ByteCursor cursor(bytes);
    while (cursor.remaining() >= 16) {
      const uint64_t tag = cursor.u64();
      const uint64_t value = cursor.u64();
      if (tag == AT_NULL) break;
      if (tag == AT_RANDOM && random_at != nullptr) *random_at = value;
      identity += fmt::format(" {}={:x}", tag, value);
    }
  }
  return identity;
}

// fs/proc/base.c, mem_rw: 0 when the last user of the address space has left it (exec, exit); an
// address where nothing is mapped gives EIO.
bool address_space_ended(int mem_fd) {
  std::byte byte{};
  return ::pread(mem_fd, &byte, 1, 0x1000) == 0;
}

}  // namespace

Result<ProcessStatus> read_status(pid_t pid) {
  JITSCOPE_ASSIGN(StatusText text, read_status_text(pid));
  return std::move(text.status);
}

Result<Process> Process::open(pid_t pid) {
  if (pid <= 0) {
    return fail(ErrorKind::usage, fmt::format("{} is not a process id", pid));
  }
  Process process;
  process.pid_ = pid;
  // The pidfd first: what is read after it belongs to that process as long as it says alive.
  process.pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  JITSCOPE_ASSIGN(StatusText text, read_status_text(pid));
  if (text.tgid != 0 && text.tgid != pid) {
    return fail(ErrorKind::usage,
                fmt::format("{} is a thread of process {} ({})", pid, text.tgid, text.status.name),
                fmt::format("tid {}", pid), fmt::format("use -p {}", text.tgid));
  }
  process.status_ = std::move(text.status);
  if (process.status_.ns_pid == 0) process.status_.ns_pid = pid;
  auto stat = read_task_stat(pid, pid);
  if (!stat) return fail(gone(pid, "has exited"));
  process.start_ticks_ = stat->start_ticks;
  process.memory_ = std::make_unique<ProcessMemory>(pid);
  // The descriptor holds on to this address space: after exec, reads through it give nothing. It is
  // refused (EACCES) where the memory may not be read at all.
  process.mem_.reset(::open(task_path(pid, "mem").c_str(), O_RDWR | O_CLOEXEC));
  if (process.mem_ && address_space_ended(process.mem_.get())) process.mem_.reset();
  process.exe_identity_ = identify_image(pid, &process.random_at_);
  if (!process.alive()) return fail(gone(pid, "has exited"));
  return process;
}

std::vector<std::string> Process::arguments() const {
  std::vector<std::string> out;
  const auto text = read_text_file(task_path(pid_, "cmdline"), 16U << 20U);
  if (!text) return out;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::string Process::command_line() const {
  std::string line;
  for (const std::string& argument : arguments()) {
    if (!line.empty()) line += ' ';
    line += argument;
  }
  // A process that writes its title over its arguments leaves NULs behind it.
  line.erase(line.find_last_not_of(' ') + 1);
  return line.empty() ? fmt::format("[{}]", status_.name) : line;
}

std::string Process::environment(std::string_view name) const {
  const auto text = read_text_file(task_path(pid_, "environ"), 16U << 20U);
  if (!text) return {};
  std::string_view rest = *text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    const std::string_view entry = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return std::string(entry.substr(name.size() + 1));
    }
  }
  return {};
}

std::string Process::executable() const {
  std::array<char, 4096> buffer{};
  const ssize_t size = ::readlink(task_path(pid_, "exe").c_str(), buffer.data(), buffer.size());
  if (size <= 0) return {};
  std::string path(buffer.data(), static_cast<size_t>(size));
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  return path;
}

std::string Process::path_in_root(std::string_view path) const {
  return task_path(pid_, "root") + (path.starts_with('/') ? "" : "/") + std::string(path);
}

bool Process::other_mount_namespace() const {
  const auto differs = [](const std::string& theirs, const char* ours) {
    struct stat a{};
    struct stat b{};
    if (::stat(theirs.c_str(), &a) != 0 || ::stat(ours, &b) != 0) return false;
    return !same_file(a, b);
  };
  return differs(task_path(pid_, "ns/mnt"), "/proc/self/ns/mnt") ||
         differs(task_path(pid_, "root"), "/");
}

bool Process::alive() const {
  if (pidfd_) {
    // Readable once the whole thread group has exited (kernel/pid.c, pidfd_poll).
    pollfd entry{pidfd_.get(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 0;
  }
  const auto stat = read_task_stat(pid_, live_thread(pid_));
  return stat && stat->state != 'Z' && stat->state != 'X';
}

uint64_t start_monotonic_ns(const Process& process) {
  // /proc/PID/stat counts from boot as seen from here, like CLOCK_BOOTTIME (fs/proc/array.c).
  constexpr uint64_t second = 1'000'000'000;
  const auto hertz = static_cast<uint64_t>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  const uint64_t ticks = process.start_ticks();
  const uint64_t since_boot = ticks / hertz * second + ticks % hertz * (second / hertz);
  // Read first: the difference must not come out too small.
  const uint64_t monotonic = clock_ns(CLOCK_MONOTONIC);
  const uint64_t suspended = clock_ns(CLOCK_BOOTTIME) - monotonic;
  return since_boot - std::min(since_boot, suspended);
}

bool Process::same_address_space() const {
  if (!mem_) return true;
  if (address_space_ended(mem_.get())) return false;
  // Read by both ways. The program may write there at this very moment, or have unmapped it.
  constexpr int kTries = 3;
  for (int i = 0; i < kTries && random_at_ != 0; ++i) {
    std::array<std::byte, 16> then{};
    std::array<std::byte, 16> now{};
    const auto got = ::pread(mem_.get(), then.data(), then.size(), static_cast<off_t>(random_at_));
    if (got != static_cast<ssize_t>(then.size())) return true;
    const Status read = memory_->read(random_at_, now);
    if (!read && read.error().kind == ErrorKind::not_permitted) return true;
    if (read && now == then) return true;
    if (i + 1 == kTries) return false;
  }
  return true;
}

Error Process::or_gone(Error error) const {
  Status same = check_same();
  return same ? std::move(error) : std::move(same.error());
}

Status Process::check_same() const {
  if (!alive()) return fail(gone(pid_, "has exited"));
  const auto stat = read_task_stat(pid_, pid_);
  if (!stat) return fail(gone(pid_, "has exited"));
  if (stat->start_ticks != start_ticks_) {
    return fail(gone(pid_, "is another process now (the pid was reused)"));
  }
  if (!same_address_space() || identify_image(pid_) != exe_identity_) {
    // An exec, or an exit that began a moment ago: either way not what was opened.
    return fail(gone(pid_, alive() ? "became another program (exec)" : "has exited"));
  }
  return {};
}

}  // namespace jitscope
