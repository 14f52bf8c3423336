// The attach protocol of HotSpot, client side; see attach.h.
#include "runtimes/hotspot/attach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <thread>
#include <utility>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"
#include "base/open_file.h"
#include "runtimes/hotspot/scoped_identity.h"

namespace jitscope {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kMostArguments = 3;
constexpr size_t kLongestAnswer = 64U << 20U;

struct Target {
  const Process& process;
  uid_t uid = 0;  // effective, now
  gid_t gid = 0;
  UniqueFd tmp;  // its /tmp, O_PATH
  std::string socket_name;
  std::string trigger_name;
  Clock::time_point deadline;
};

std::string where(const Target& target) {
  return fmt::format("pid {}", target.process.pid());
}

bool is_hotspot(const std::vector<Mapping>& maps) {
  bool found = false;
  for (const Mapping& mapping : maps) {
    const std::string_view name =
        std::string_view(mapping.path).substr(mapping.path.rfind('/') + 1);
    if (name.starts_with("libj9vm")) return false;
    found = found || name == "libjvm.so";
  }
  return found;
}

// Whether a signal mask of /proc/PID/status ("SigCgt:\t0000000181005ccf") has the signal; false
// when the line is missing.
bool mask_has(std::string_view status, std::string_view key, int signal) {
  ByteCursor cursor(status);
  while (!cursor.at_end()) {
    std::string_view line = cursor.line();
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    while (line.starts_with('\t') || line.starts_with(' ')) line.remove_prefix(1);
    return ((parse_hex(line).value_or(0) >> (signal - 1)) & 1) != 0;
  }
  return false;
}

Status check_signal(const Process& process) {
  JITSCOPE_ASSIGN(const std::string status,
                  read_text_file(fmt::format("/proc/{}/status", process.pid()), 1U << 20U));
  if (mask_has(status, "SigCgt:", SIGQUIT)) return {};
  return fail(
      ErrorKind::not_possible,
      "the JVM does not handle SIGQUIT (started with -Xrs, or still starting), which would end it",
      fmt::format("pid {}", process.pid()), "start it without -Xrs");
}

bool attach_disabled(const Process& process) {
  constexpr std::string_view kOff = "-XX:+DisableAttachMechanism";
  const auto arguments = process.arguments();
  return std::ranges::find(arguments, kOff) != arguments.end() ||
         process.environment("JAVA_TOOL_OPTIONS").find(kOff) != std::string::npos ||
         process.environment("_JAVA_OPTIONS").find(kOff) != std::string::npos ||
         process.environment("JDK_JAVA_OPTIONS").find(kOff) != std::string::npos;
}

Result<Target> find_target(const Process& process, std::chrono::milliseconds time) {
  JITSCOPE_TRY(process.check_same());
  JITSCOPE_ASSIGN(const std::vector<Mapping> maps, process.maps());
  if (!is_hotspot(maps)) {
    return fail(ErrorKind::not_possible, "not a HotSpot JVM: no libjvm.so is mapped",
                fmt::format("pid {}", process.pid()));
  }
  JITSCOPE_ASSIGN(const ProcessStatus status, read_status(process.pid()));
  Target target{process, status.uid, status.gid, {}, {}, {}, Clock::now() + time};
  target.tmp = open_in_root(root_of(process.pid()), "/tmp", O_PATH | O_DIRECTORY);
  if (!target.tmp) return fail(system_error("cannot open the JVM's /tmp", where(target)));
  target.socket_name = fmt::format(".java_pid{}", process.ns_pid());
  target.trigger_name = fmt::format(".attach_pid{}", process.ns_pid());
  return target;
}

// The listener's socket: 0 ok, not_found when there is none, not_permitted when it is not the
// JVM's.
Status check_socket_file(const Target& target) {
  struct stat info{};
  if (::fstatat(target.tmp.get(), target.socket_name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail(system_error("no attach socket", where(target)));
  }
  if (!S_ISSOCK(info.st_mode) || (info.st_uid != target.uid && info.st_uid != 0)) {
    return fail(ErrorKind::not_permitted,
                fmt::format("/tmp/{} is not a socket of the JVM's user", target.socket_name),
                where(target), "somebody put it there; remove it");
  }
  return {};
}

Result<UniqueFd> connect_listener(const Target& target) {
  JITSCOPE_TRY(check_socket_file(target));
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(system_error("socket"));
  // Through the open directory: short enough for sun_path, and inside the JVM's mount namespace.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", target.tmp.get(), target.socket_name);
  if (path.size() >= sizeof address.sun_path) {
    return fail(ErrorKind::not_possible, "the path of the attach socket is too long", path);
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  int code = 0;
  {
    // The JVM compares the peer's effective user and group with its own.
    const ScopedIdentity identity(target.uid, target.gid);
    JITSCOPE_TRY(identity.status());
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      code = errno;
    }
  }
  if (code == ECONNREFUSED || code == EAGAIN) code = ENOENT;  // left by an earlier JVM, or busy
  if (code != 0) return fail(system_error("cannot connect to the JVM", where(target), code));
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
      peer.pid != target.process.pid()) {
    return fail(ErrorKind::not_permitted,
                fmt::format("the attach socket belongs to process {}", peer.pid), where(target),
                "another process listens in the JVM's place");
  }
  return socket;
}

// The file whose presence turns SIGQUIT into "open the socket"; removed at the end of the scope.
class Trigger {
 public:
  Trigger(const Trigger&) = delete;
  Trigger& operator=(const Trigger&) = delete;
  Trigger() = default;
  ~Trigger() {
    if (!directory_) return;
    const ScopedIdentity identity(uid_, gid_);
    ::unlinkat(directory_.get(), name_.c_str(), 0);
  }

  // HotSpot looks into its working directory and into /tmp. /tmp first: where this user can make no
  // file, the JVM can make no socket either. The other when the name is taken.
  Status create(const Target& target) {
    uid_ = target.uid;
    gid_ = target.gid;
    name_ = target.trigger_name;
    Status made = create_in(target, UniqueFd(::fcntl(target.tmp.get(), F_DUPFD_CLOEXEC, 0)));
    if (made || made.error().system_errno != EEXIST) return made;
    UniqueFd cwd(::open(fmt::format("/proc/{}/cwd", target.process.pid()).c_str(),
                        O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (cwd && create_in(target, std::move(cwd))) return {};
    return made;
  }

 private:
  Status create_in(const Target& target, UniqueFd directory) {
    // As the JVM's user: never a file where that user could make none, and the right owner at once.
    const ScopedIdentity identity(target.uid, target.gid);
    JITSCOPE_TRY(identity.status());
    const UniqueFd file(::openat(directory.get(), target.trigger_name.c_str(),
                                 O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) {
      const int code = errno;
      struct stat info{};
      // Left over, or another client attaches just now: as good as our own.
      const bool usable = code == EEXIST &&
                          ::fstatat(directory.get(), target.trigger_name.c_str(), &info,
                                    AT_SYMLINK_NOFOLLOW) == 0 &&
                          S_ISREG(info.st_mode) && info.st_uid == target.uid;
      if (!usable) {
        return fail(system_error(fmt::format("cannot create {} for the JVM", target.trigger_name),
                                 where(target), code)
                        .advise("its /tmp must be writable for its user"));
      }
    }
    directory_ = std::move(directory);
    return {};
  }

  UniqueFd directory_;
  std::string name_;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
};

Error too_late(const Target& target, std::string_view what) {
  return Error{ErrorKind::not_possible, fmt::format("the JVM {} in time", what), where(target),
               "it may be stopped, very busy or in a long pause; try again", 0};
}

Status send_quit(const Target& target) {
  JITSCOPE_TRY(check_signal(target.process));
  JITSCOPE_TRY(target.process.check_same());
  const long sent =
      target.process.pidfd() >= 0
          ? ::syscall(SYS_pidfd_send_signal, target.process.pidfd(), SIGQUIT, nullptr, 0)
          : ::kill(target.process.pid(), SIGQUIT);
  if (sent != 0) return fail(system_error("cannot signal the JVM", where(target)));
  return {};
}

// Whether SIGQUIT would make this JVM listen, as far as can be seen from outside.
Status may_be_signalled(const Target& target) {
  if (attach_disabled(target.process)) {
    return fail(ErrorKind::not_possible, "attaching is turned off in this JVM", where(target),
                "start it without -XX:+DisableAttachMechanism");
  }
  JITSCOPE_ASSIGN(const ProcessStatus status, read_status(target.process.pid()));
  if (status.state == 'T' || status.state == 't') {
    return fail(ErrorKind::not_possible, "the JVM is stopped", where(target),
                "let it run (SIGCONT)");
  }
  return check_signal(target.process);
}

// Makes the JVM listen and connects.
Result<UniqueFd> open_listener(const Target& target) {
  auto socket = connect_listener(target);
  if (socket || socket.error().kind != ErrorKind::not_found) return socket;
  JITSCOPE_TRY(may_be_signalled(target));
  Trigger trigger;
  JITSCOPE_TRY(trigger.create(target));
  JITSCOPE_TRY(send_quit(target));
  // A JVM that is just starting removes the socket that it made a moment ago
  // (AttachListener::vm_start); another signal makes it look again. Not earlier: one that is only
  // slow would print a thread dump.
  const auto second = Clock::now() + (target.deadline - Clock::now()) / 2;
  bool repeated = false;
  while (true) {
    socket = connect_listener(target);
    if (socket || socket.error().kind != ErrorKind::not_found) return socket;
    if (!target.process.alive()) {
      return fail(ErrorKind::target_gone, "the JVM has exited", where(target));
    }
    if (Clock::now() >= target.deadline) return fail(too_late(target, "did not open its socket"));
    if (!repeated && Clock::now() >= second) {
      repeated = true;
      JITSCOPE_TRY(send_quit(target));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Waits for `events`; false when the time is over.
bool wait_for(const Target& target, int fd, short events) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(target.deadline - Clock::now())
            .count();
    if (left <= 0) return false;
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min<int64_t>(left, 1000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Status send_all(const Target& target, int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      text.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_for(target, socket, POLLOUT))
        return fail(too_late(target, "did not take the command"));
    } else if (errno != EINTR) {
      return fail(system_error("cannot send to the JVM", where(target))
                      .advise("it refuses clients of other users than its own"));
    }
  }
  return {};
}

Result<std::string> receive_all(const Target& target, int socket) {
  std::string answer;
  std::array<char, 16384> buffer{};
  while (true) {
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got == 0) return answer;
    if (got > 0) {
      answer.append(buffer.data(), static_cast<size_t>(got));
      if (answer.size() > kLongestAnswer) {
        return fail(ErrorKind::damaged, "the JVM's answer does not end", where(target));
      }
    } else if (errno == EAGAIN) {
      if (!wait_for(target, socket, POLLIN)) return fail(too_late(target, "did not answer"));
    } else if (errno != EINTR) {
      return fail(system_error("cannot read the JVM's answer", where(target))
                      .advise("it refuses clients of other users than its own"));
    }
  }
}

}  // namespace

Status can_attach(const Process& process) {
  JITSCOPE_ASSIGN(const Target target, find_target(process, {}));
  if (check_socket_file(target)) return {};
  return may_be_signalled(target);
}

Result<std::string> attach_command(const Process& process, std::string_view command,
                                   std::span<const std::string> arguments,
                                   std::chrono::milliseconds deadline) {
  if (arguments.size() > kMostArguments) {
    return fail(ErrorKind::usage, "an attach command has at most three arguments");
  }
  std::string request = "1";
  request += '\0';
  request += command;
  request += '\0';
  for (size_t i = 0; i < kMostArguments; ++i) {
    if (i < arguments.size()) request += arguments[i];
    request += '\0';
  }
  if (std::ranges::count(request, '\0') != 2 + static_cast<std::ptrdiff_t>(kMostArguments)) {
    return fail(ErrorKind::usage, "an attach command cannot hold NUL bytes");
  }
  JITSCOPE_ASSIGN(const Target target, find_target(process, deadline));
  JITSCOPE_ASSIGN(const UniqueFd socket, open_listener(target));
  JITSCOPE_TRY(send_all(target, socket.get(), request));
  JITSCOPE_ASSIGN(std::string answer, receive_all(target, socket.get()));

  const size_t end = answer.find('\n');
  int code = 0;
  const char* const last = answer.data() + std::min(end, answer.size());
  const auto parsed = std::from_chars(answer.data(), last, code);
  if (end == std::string::npos || parsed.ec != std::errc{} || parsed.ptr != last) {
    return fail(ErrorKind::damaged, "the JVM's answer has no result code", where(target));
  }
  answer.erase(0, end + 1);
  if (code == 0) return answer;
  while (answer.ends_with('\n')) answer.pop_back();
  return fail(
      ErrorKind::not_possible,
      fmt::format("the JVM refused '{}' (code {}): {}", command, code, answer.substr(0, 500)),
      where(target));
}

}  // namespace jitscope
