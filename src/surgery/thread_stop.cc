// Seize, interrupt, collect, resume. See ptrace(2) for the kinds of stops.
#include "surgery/thread_stop.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"
#include "process/sharers.h"
#include "process/tasks.h"
#include "surgery/freezer.h"
#include "surgery/write_memory.h"

namespace jitscope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD
constexpr auto kNudge = std::chrono::milliseconds(5);
constexpr useconds_t kSleeperPause = 200;  // who wakes up stands still for so long, alone

// Between two looks at what is waited for.
void pause(unsigned round) {
  if (round < 200) {
    ::sched_yield();
  } else {
    ::usleep(50);
  }
}

bool asleep(pid_t pid, pid_t tid) {
  const auto stat = read_task_stat(pid, tid);
  return stat && stat->state == 'D';
}

Error traced(pid_t pid, pid_t tid, const ProcessStatus& status) {
  const auto tracer = read_status(status.tracer_pid);
  return Error{ErrorKind::not_permitted,
               fmt::format("process {} ({}) is already traced by process {}{}", pid, status.name,
                           status.tracer_pid, tracer ? fmt::format(" ({})", tracer->name) : ""),
               fmt::format("tid {}", tid),
               "a process can have one tracer only: let that one detach first", EBUSY};
}

Error seize_refused(pid_t pid, pid_t tid, int code) {
  if (const auto stat = read_task_stat(pid, tid); stat && (stat->flags & kKernelThread) != 0) {
    return Error{ErrorKind::not_possible,
                 fmt::format("process {} ({}) is a kernel thread", pid, stat->comm),
                 fmt::format("pid {}", pid), "kernel threads run no code of a program", code};
  }
  const auto status = read_status(tid);
  if (status && status->tracer_pid != 0) return traced(pid, tid, *status);
  return permission_error("stopping threads", pid, code).at(fmt::format("tid {}", tid));
}

// 0: nobody.
pid_t tracer_of(pid_t tid) {
  const auto status = read_status(tid);
  return status ? status->tracer_pid : 0;
}

// The signals that a thread blocks at this moment, bit n-1 for signal n. In a call that waits with
// a mask of its own, ptrace shows the mask that comes back afterwards, /proc the one in force.
std::optional<uint64_t> blocked_signals(pid_t pid, pid_t tid, bool own_mask) {
  if (!own_mask) {
    uint64_t blocked = 0;
    if (::ptrace(PTRACE_GETSIGMASK, tid, sizeof(blocked), &blocked) != 0) return std::nullopt;
    return blocked;
  }
  const auto text = read_text_file(fmt::format("/proc/{}/task/{}/status", pid, tid), 1U << 20U);
  if (!text) return std::nullopt;
  constexpr std::string_view kKey = "\nSigBlk:\t";
  const size_t at = text->find(kKey);
  if (at == std::string::npos) return std::nullopt;
  return parse_hex(std::string_view(*text).substr(at + kKey.size(), 16));
}

// A signal that the thread would be given next may be why its call said EINTR.
bool signal_pending(pid_t pid, pid_t tid, bool own_mask) {
  const auto mask = blocked_signals(pid, tid, own_mask);
  if (!mask) return true;
  const uint64_t blocked = *mask;
  for (const uint32_t flags : {0U, static_cast<uint32_t>(PTRACE_PEEKSIGINFO_SHARED)}) {
    std::array<siginfo_t, 64> infos{};
    __ptrace_peeksiginfo_args arguments{};
    arguments.flags = flags;
    arguments.nr = static_cast<int>(infos.size());
    while (true) {
      const long count = ::ptrace(PTRACE_PEEKSIGINFO, tid, &arguments, infos.data());
      if (count < 0) return true;  // cannot tell
      for (const siginfo_t& info : std::span(infos).first(static_cast<size_t>(count))) {
        const int number = info.si_signo;
        if (number < 1 || number > 64) continue;
        if (((blocked >> static_cast<unsigned>(number - 1)) & 1U) == 0) return true;
      }
      if (count < static_cast<long>(infos.size())) break;
      arguments.off += static_cast<uint64_t>(count);
      if (arguments.off > 65536) return true;  // a queue without an end
    }
  }
  return false;
}

ThreadEvent classify(const siginfo_t& info) {
  using Kind = ThreadEvent::Kind;
  if (info.si_pid == 0) return {};
  if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
    return {Kind::gone, 0};
  }
  const int signal = info.si_status & 0xff;
  const int event = info.si_status >> 8;
  if (event == PTRACE_EVENT_STOP) {
    return {signal == SIGTRAP ? Kind::trap : Kind::group_stop, signal};
  }
  if (signal == (SIGTRAP | 0x80)) return {Kind::system_call, 0};
  return {Kind::signal, signal};
}

}  // namespace

Status check_untraced(const Process& process) {
  const pid_t tid = live_thread(process.pid());
  const auto status = read_status(tid);
  if (status && status->tracer_pid != 0) return fail(traced(process.pid(), tid, *status));
  return {};
}

ThreadEvent poll_thread(pid_t tid, bool leader) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(tid);
  const int options = WSTOPPED | WNOHANG | __WALL | (leader ? 0 : WEXITED);
  if (::waitid(P_PID, id, &info, options) != 0) return {ThreadEvent::Kind::gone, 0};
  if (info.si_pid == 0 && leader) {
    // WNOWAIT: the parent, which may be this process, still wants the exit status.
    if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) {
      return {ThreadEvent::Kind::gone, 0};
    }
    // A stop that came between the two calls shows here as well; the next poll takes it.
    if (classify(info).kind != ThreadEvent::Kind::gone) return {};
  }
  return classify(info);
}

ThreadEvent wait_thread(pid_t tid, bool leader, Clock::time_point deadline) {
  for (unsigned round = 0;; ++round) {
    const ThreadEvent event = poll_thread(tid, leader);
    if (event.kind != ThreadEvent::Kind::nothing || Clock::now() > deadline) return event;
    pause(round);
  }
}

ThreadStop::ThreadStop(ThreadStop&& other) noexcept
    : process_(other.process_),
      waiting_(std::move(other.waiting_)),
      threads_(std::move(other.threads_)),
      began_(other.began_),
      lasted_(other.lasted_),
      restarted_calls_(other.restarted_calls_),
      resumed_(std::exchange(other.resumed_, true)) {}

Result<ThreadStop> ThreadStop::all(const Process& process, std::chrono::milliseconds timeout) {
  ThreadStop stop(process);
  JITSCOPE_TRY(stop.hold(list_threads(process.pid()), true, timeout));
  return stop;
}

Result<ThreadStop> ThreadStop::one(const Process& process, pid_t tid,
                                   std::chrono::milliseconds timeout) {
  ThreadStop stop(process);
  const std::array<pid_t, 1> tids = {tid};
  JITSCOPE_TRY(stop.keep_others_out(tid));
  JITSCOPE_TRY(stop.hold(tids, false, timeout));
  return stop;
}

Status ThreadStop::seize(pid_t tid, bool& held) {
  held = false;
  // TRACESYSGOOD: should the tracer die while a borrowed thread is in a system-call stop, the
  // kernel would otherwise send it a SIGTRAP (include/linux/ptrace.h, ptrace_report_syscall).
  constexpr int kTries = 3;
  for (int attempt = 1;; ++attempt) {
    if (::ptrace(PTRACE_SEIZE, tid, nullptr, PTRACE_O_TRACESYSGOOD) == 0) {
      held = true;
      return {};
    }
    const int code = errno;
    if (code == ESRCH) return {};
    const auto stat = read_task_stat(process_->pid(), tid);
    if (!stat || stat->state == 'Z' || stat->state == 'X') return {};
    const pid_t tracer = tracer_of(tid);
    if (tracer == static_cast<pid_t>(::syscall(SYS_gettid))) {  // held to keep others out
      held = true;
      return {};
    }
    // Nobody: another tracer may have let go between the kernel's answer and this look.
    if (code != EPERM || attempt == kTries || tracer != 0) {
      return fail(seize_refused(process_->pid(), tid, code));
    }
  }
}

Status ThreadStop::keep_others_out(pid_t tid) {
  // Every surgery begins with the first thread that lives (all() by the order of the list).
  for (const pid_t first : list_threads(process_->pid())) {
    if (first >= tid) return {};
    bool held = false;
    JITSCOPE_TRY(seize(first, held));
    if (held) return {};
  }
  return {};
}

Status ThreadStop::hold(std::span<const pid_t> tids, bool rescan,
                        std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  std::unordered_set<pid_t> known;
  std::vector<pid_t> todo(tids.begin(), tids.end());
  while (true) {
    std::vector<pid_t> seized;
    for (const pid_t tid : todo) {
      if (!known.insert(tid).second) continue;
      bool held = false;
      JITSCOPE_TRY(seize(tid, held));
      if (held) seized.push_back(tid);
    }
    if (seized.empty()) break;
    if (began_ == Clock::time_point{}) began_ = Clock::now();
    for (const pid_t tid : seized) (void)::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    waiting_ = std::move(seized);
    JITSCOPE_ASSIGN(const bool all_stopped, collect(deadline));
    if (!all_stopped) {
      JITSCOPE_TRY(await_sleepers(deadline));
      known.clear();
      for (const StoppedThread& thread : threads_) known.insert(thread.tid);
    }
    if (!rescan) break;
    todo = list_threads(process_->pid());  // threads that were made meanwhile, or let go
  }
  if (threads_.empty()) {
    return fail(ErrorKind::target_gone,
                rescan ? fmt::format("process {} has exited", process_->pid())
                       : fmt::format("the thread has exited"),
                fmt::format("pid {}", process_->pid()));
  }
  return {};
}

Result<bool> ThreadStop::collect(Clock::time_point deadline) {
  // Longer than most disks take to answer; nobody else stands still for a thread that sleeps on.
  constexpr auto kSleepGrace = std::chrono::milliseconds(10);
  auto look_at = Clock::now() + kSleepGrace;
  auto nudge_at = Clock::now() + kNudge;
  for (unsigned round = 0; !waiting_.empty(); ++round) {
    const size_t before = waiting_.size();
    take_stopped();
    if (waiting_.empty()) break;
    const auto now = Clock::now();
    if (now > deadline) return fail(late(waiting_.front()));
    if (now > look_at) {
      look_at = now + kSleepGrace;
      if (std::ranges::all_of(waiting_, [&](pid_t tid) { return asleep(process_->pid(), tid); })) {
        return false;
      }
    }
    JITSCOPE_TRY(nudge(nudge_at));
    if (waiting_.size() == before) pause(round);
  }
  return true;
}

Status ThreadStop::await_sleepers(Clock::time_point deadline) {
  auto nudge_at = Clock::now() + kNudge;
  while (true) {
    // The others; and who woke up before the last one did.
    let_go();
    threads_.clear();
    take_stopped();
    if (waiting_.empty()) break;
    if (Clock::now() > deadline) return fail(late(waiting_.front()));
    JITSCOPE_TRY(nudge(nudge_at));
    ::usleep(kSleeperPause);
  }
  began_ = Clock::now();
  return {};
}

Status ThreadStop::nudge(Clock::time_point& at) {
  if (Clock::now() <= at) return {};
  at = Clock::now() + kNudge;
  // An exec ends the other threads and forgets the interrupt of the one that lives on.
  JITSCOPE_TRY(check_address_space(*process_));
  for (const pid_t tid : waiting_) (void)::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  return {};
}

void ThreadStop::take_stopped() {
  std::erase_if(waiting_, [&](pid_t tid) {
    const ThreadEvent event = poll_thread(tid, tid == process_->pid());
    if (event.kind == ThreadEvent::Kind::nothing) return false;
    take(tid, event);
    return true;
  });
}

void ThreadStop::take(pid_t tid, const ThreadEvent& event) {
  if (event.kind == ThreadEvent::Kind::gone) return;
  StoppedThread thread;
  thread.tid = tid;
  thread.group_stopped = event.kind == ThreadEvent::Kind::group_stop;
  if (event.kind == ThreadEvent::Kind::signal) thread.signal = event.number;
  if (!read_registers(tid, thread.registers)) return;  // killed within the stop
  repair(thread);
  threads_.push_back(thread);
}

void ThreadStop::repair(StoppedThread& thread) {
  if (thread.signal != 0 || !interrupted_without_restart(thread.registers)) return;
  if (signal_pending(process_->pid(), thread.tid, waits_with_own_mask(thread.registers))) return;
  std::byte bytes[kSystemCallSize];
  const uint64_t address = instruction_pointer(thread.registers) - kSystemCallSize;
  if (!process_->memory().read(address, bytes) || !is_system_call_instruction(bytes)) return;
  const Registers again = repeat_system_call(thread.registers);
  if (!write_registers(thread.tid, again)) return;
  thread.registers = again;
  thread.repaired = true;
  ++restarted_calls_;
}

Error ThreadStop::late(pid_t tid) const {
  if (const std::string file = frozen_by(process_->pid()); !file.empty()) {
    Error error = frozen_error(process_->pid(), file);
    error.system_errno = ETIMEDOUT;  // it may be thawed any moment
    return error;
  }
  const auto stat = read_task_stat(process_->pid(), tid);
  Error error{ErrorKind::not_possible,
              fmt::format("thread {}{} of process {} did not stop in time", tid,
                          stat ? fmt::format(" ({})", stat->comm) : "", process_->pid()),
              fmt::format("tid {}", tid), "nothing was changed: try again", ETIMEDOUT};
  if (!stat || stat->state != 'D') return error;
  error.what += ": it is in uninterruptible sleep";
  error.hint = "it waits for a device, a file server or a vfork child; " + error.hint;
  if (const pid_t child = vfork_child(process_->pid(), tid); child != 0) {
    error.what += fmt::format(" until its vfork child {} executes a program or exits", child);
    error.hint = "nothing was changed: try again when the child has done so";
  }
  return error;
}

void ThreadStop::let_go() {
  for (const StoppedThread& thread : threads_) {
    (void)::ptrace(PTRACE_DETACH, thread.tid, nullptr, thread.signal);
  }
  // Threads that never stopped are let go by the end of the tracer thread (tracer.h).
  if (began_ != Clock::time_point{}) lasted_ += Clock::now() - std::exchange(began_, {});
}

std::chrono::nanoseconds ThreadStop::resume() {
  if (std::exchange(resumed_, true)) return lasted_;
  let_go();
  return lasted_;
}

}  // namespace jitscope
