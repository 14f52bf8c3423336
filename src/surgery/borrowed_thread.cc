#include "surgery/borrowed_thread.h"

#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/byte_cursor.h"
#include "process/process.h"

namespace jitscope {
namespace {

using Clock = std::chrono::steady_clock;

// struct ptrace_rseq_configuration and PTRACE_GET_RSEQ_CONFIGURATION of linux/ptrace.h, which
// cannot be included beside sys/ptrace.h.
constexpr long kGetRseq = 0x420f;
struct RseqConfiguration {
  uint64_t address;
  uint32_t size;
  uint32_t signature;
  uint32_t flags;
  uint32_t pad;
};
constexpr size_t kMostKept = 65536;    // signals; beyond these the wait has its limit
constexpr uint64_t kRseqSequence = 8;  // offset of rseq_cs in struct rseq

bool in_restartable_sequence(const Process& process, pid_t tid) {
  RseqConfiguration rseq{};
  const long size = ::ptrace(static_cast<__ptrace_request>(kGetRseq), tid, sizeof(rseq), &rseq);
  if (size < static_cast<long>(sizeof(uint64_t)) || rseq.address == 0) return false;
  std::array<std::byte, 8> bytes{};
  if (!process.memory().read(rseq.address + kRseqSequence, bytes)) return false;
  return ByteCursor(std::span<const std::byte>(bytes)).u64() != 0;
}

// The kernel raised it (si_code above 0) for what the thread did: a fault, or a refused system
// call.
bool raised_by_stub(const siginfo_t& info) {
  switch (info.si_signo) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGTRAP:
    case SIGSYS:
      return info.si_code > 0;
    default:
      return false;
  }
}

constexpr uintptr_t kSeccompOptions = PTRACE_O_TRACESYSGOOD | 0x200000;  // PTRACE_O_SUSPEND_SECCOMP

}  // namespace

bool may_be_borrowed(const Process& process, const StoppedThread& thread) {
  return thread.signal == 0 && native_mode(thread.registers) &&
         !in_restartable_sequence(process, thread.tid);
}

Status allow_system_calls(const StoppedThread& thread) {
  const auto status = read_status(thread.tid);
  if (!status || status->seccomp == 0) return {};
  if (::ptrace(PTRACE_SETOPTIONS, thread.tid, nullptr, kSeccompOptions) == 0) return {};
  return fail(Error{ErrorKind::not_permitted,
                    fmt::format("thread {} ({}) has a seccomp filter, which could kill it at a "
                                "system call",
                                thread.tid, status->name),
                    fmt::format("tid {}", thread.tid),
                    "setting the filter aside needs CAP_SYS_ADMIN and a tracer without a filter of "
                    "its own; patching alone is possible without",
                    errno});
}

Status BorrowedThread::run(std::span<const RemoteCall> calls, uint64_t entry,
                           const StopOptions& options, std::vector<int64_t>& results) {
  Status status = run_calls(calls, entry, options, results);
  // Let go in the stub: it goes on by itself, and meets there what was kept from it.
  if (!status && !out_) {
    for (const siginfo_t& info : kept_) (void)raise_again(info);
    kept_.clear();
  }
  return status;
}

Status BorrowedThread::run_calls(std::span<const RemoteCall> calls, uint64_t entry,
                                 const StopOptions& options, std::vector<int64_t>& results) {
  const auto deadline = [&] {
    return Clock::now() + std::max(options.stop_timeout, std::chrono::milliseconds(1000));
  };
  // The one moment that counts: until here the thread is where it was, from here on the stub brings
  // it back.
  out_ = false;
  entry_ = entry;
  if (!write_registers(thread_.tid, at_instruction(thread_.registers, entry))) {
    out_ = true;
    return fail(gone());
  }
  Status verdict;  // of the caller's `then`
  for (const RemoteCall& call : calls) {
    JITSCOPE_TRY(next_system_call_stop(deadline()));  // entry
    // After an error of the caller's only what cleans up is still made.
    if (!verdict && call.number != SYS_close) {
      Registers registers{};
      if (!read_registers(thread_.tid, registers) ||
          !write_registers(thread_.tid, without_system_call(registers))) {
        return fail(gone());
      }
    }
    JITSCOPE_TRY(next_system_call_stop(deadline()));  // exit
    __ptrace_syscall_info info{};
    if (::ptrace(PTRACE_GET_SYSCALL_INFO, thread_.tid, sizeof(info), &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_EXIT) {
      return fail(gone());
    }
    results.push_back(info.exit.rval);
    if (verdict && call.then) verdict = call.then(info.exit.rval);
  }
  JITSCOPE_TRY(put_back(deadline()));
  return verdict;
}

Status BorrowedThread::next_system_call_stop(Deadline deadline) {
  const auto allowed = deadline - Clock::now();
  while (true) {
    if (::ptrace(PTRACE_SYSCALL, thread_.tid, nullptr, nullptr) != 0) return fail(gone());
    ThreadEvent event;
    JITSCOPE_TRY(wait_stopped(deadline, event));
    if (event.kind == ThreadEvent::Kind::system_call) return {};
    // A group stop takes effect when the thread is let go.
    if (event.kind != ThreadEvent::Kind::signal) continue;
    keep_signal(event.number);
    if (raised_by_stub(kept_.back())) {
      kept_.pop_back();
      return give_up(event.number, deadline);
    }
    // A flood of them takes time on a busy machine; that is no system call that hangs.
    if (kept_.size() < kMostKept) deadline = Clock::now() + allowed;
  }
}

Status BorrowedThread::give_up(int number, Deadline deadline) {
  // A signal-delivery-stop lies within the kernel's signal handling too: the state is put back as
  // it was, and the signal, which is none of the program's, is dropped.
  if (!write_registers(thread_.tid, thread_.registers)) return fail(gone());
  out_ = true;
  JITSCOPE_TRY(give_signals(deadline));
  return fail(
      ErrorKind::not_possible,
      fmt::format("the target does not let code of ours run in it ({})", ::strsignal(number)),
      fmt::format("tid {}, address {:#x}", thread_.tid, stub_.begin),
      number == SIGSYS ? "a seccomp filter refuses the system call" : "nothing was changed");
}

Status BorrowedThread::wait_stopped(Deadline deadline, ThreadEvent& event) {
  event = wait_thread(thread_.tid, thread_.tid == process_.pid(), deadline);
  if (event.kind == ThreadEvent::Kind::gone) return fail(gone());
  if (event.kind == ThreadEvent::Kind::nothing) {
    if (took_no_step()) {
      return fail(ErrorKind::not_possible,
                  fmt::format("thread {} does not run: nothing was changed", thread_.tid),
                  fmt::format("tid {}", thread_.tid), "is its cgroup being frozen? try again");
    }
    return fail(ErrorKind::not_possible,
                fmt::format("a system call made for us by thread {} takes too long", thread_.tid),
                fmt::format("tid {}", thread_.tid),
                "the thread goes on by itself once it returns; is the file on a slow file system?");
  }
  return {};
}

// The thread was let go and has not begun with the stub (its cgroup was frozen just now): it is
// taken back, so that no stub is left for it to run some day.
bool BorrowedThread::took_no_step() {
  if (out_ || ::ptrace(PTRACE_INTERRUPT, thread_.tid, nullptr, nullptr) != 0) return false;
  const auto soon = Clock::now() + std::chrono::milliseconds(200);
  const ThreadEvent event = wait_thread(thread_.tid, thread_.tid == process_.pid(), soon);
  Registers now{};
  const bool stopped =
      event.kind == ThreadEvent::Kind::trap || event.kind == ThreadEvent::Kind::group_stop;
  if (!stopped || !read_registers(thread_.tid, now) || instruction_pointer(now) != entry_) {
    return false;
  }
  // A stop within the kernel's signal handling, as in give_up().
  if (!write_registers(thread_.tid, thread_.registers)) return false;
  out_ = true;
  for (const siginfo_t& info : kept_) (void)raise_again(info);
  kept_.clear();
  return true;
}

void BorrowedThread::keep_signal(int number) {
  siginfo_t info{};
  if (::ptrace(PTRACE_GETSIGINFO, thread_.tid, nullptr, &info) != 0) {
    info = {};
    info.si_signo = number;
  }
  kept_.push_back(info);
}

Status BorrowedThread::put_back(Deadline deadline) {
  // From the exit of the last call to a stop within the kernel's signal handling, without another
  // instruction of the stub: only there does a call to be restarted mean anything (see
  // thread_registers.h). The rest of the stub is for the death of the tracer.
  (void)::ptrace(PTRACE_INTERRUPT, thread_.tid, nullptr, nullptr);
  if (::ptrace(PTRACE_CONT, thread_.tid, nullptr, nullptr) != 0) return fail(gone());
  ThreadEvent event;
  JITSCOPE_TRY(wait_stopped(deadline, event));
  if (event.kind == ThreadEvent::Kind::signal) keep_signal(event.number);
  if (!write_registers(thread_.tid, thread_.registers)) return fail(gone());
  out_ = true;
  if (event.kind == ThreadEvent::Kind::signal && kept_.size() == 1) {
    thread_.signal = event.number;  // the stop at hand is this signal's own
    return {};
  }
  return give_signals(deadline);
}

bool BorrowedThread::raise_again(const siginfo_t& info) const {
  // Only the codes of queued signals may be claimed by another process (kernel/signal.c,
  // do_rt_tgsigqueueinfo).
  if (info.si_code < 0 && info.si_code != SI_TKILL &&
      ::syscall(SYS_rt_tgsigqueueinfo, process_.pid(), thread_.tid, info.si_signo, &info) == 0) {
    return true;
  }
  return ::syscall(SYS_tgkill, process_.pid(), thread_.tid, info.si_signo) == 0;
}

Status BorrowedThread::give_signals(Deadline deadline) {
  for (const siginfo_t& info : kept_) {
    // Raised once more, to get into a stop in which the kernel takes a signal from us.
    if (!raise_again(info)) return fail(gone());
    const int previous = std::exchange(thread_.signal, 0);
    if (previous == 0) {
      uint64_t blocked = 0;
      const auto bit = uint64_t{1} << static_cast<unsigned>(info.si_signo - 1);
      (void)::ptrace(PTRACE_GETSIGMASK, thread_.tid, sizeof(blocked), &blocked);
      if ((blocked & bit) != 0) continue;  // stays pending and comes when it may
    } else {
      // The handler of the one before may block this one, and would run: stop it in front of that.
      (void)::ptrace(PTRACE_INTERRUPT, thread_.tid, nullptr, nullptr);
    }
    if (::ptrace(PTRACE_CONT, thread_.tid, nullptr, previous) != 0) return fail(gone());
    ThreadEvent event;
    JITSCOPE_TRY(wait_stopped(deadline, event));
    if (event.kind != ThreadEvent::Kind::signal) continue;  // pending, comes at the resume
    thread_.signal = event.number;
    siginfo_t now{};
    if (event.number == info.si_signo &&
        ::ptrace(PTRACE_GETSIGINFO, thread_.tid, nullptr, &now) == 0 && now.si_code == SI_TKILL) {
      (void)::ptrace(PTRACE_SETSIGINFO, thread_.tid, nullptr, &info);  // who sent it, as it was
    }
  }
  return {};
}

Error BorrowedThread::gone() const {
  const bool alive = process_.alive();
  return Error{ErrorKind::target_gone,
               alive ? fmt::format("thread {} of process {} exited while it was borrowed",
                                   thread_.tid, process_.pid())
                     : fmt::format("process {} has exited", process_.pid()),
               fmt::format("tid {}", thread_.tid), "", 0};
}

}  // namespace jitscope
