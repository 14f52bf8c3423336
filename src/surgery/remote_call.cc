// run_remote_calls: borrows one thread for a stub of system calls.
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <thread>

#include "process/tasks.h"
#include "surgery/borrowed_thread.h"
#include "surgery/freezer.h"
#include "surgery/padding.h"
#include "surgery/ptrace_thread.h"
#include "surgery/stack_scan.h"
#include "surgery/stub.h"
#include "surgery/surgery.h"
#include "surgery/thread_stop.h"
#include "surgery/write_memory.h"

namespace jitscope {
namespace {

class RemoteRunner {
 public:
  RemoteRunner(const Process& process, std::span<const RemoteCall> calls, bool stop_all,
               StopCheck check, const StopOptions& options)
      : process_(process),
        calls_(calls),
        stop_all_(stop_all),
        check_(std::move(check)),
        options_(options) {
    report_.stop.stops = 0;
  }

  Result<RemoteReport> run() {
    // A frozen thread stops for a tracer (cgroup version 2), but would not run the stub.
    if (const std::string file = frozen_by(process_.pid()); !file.empty()) {
      return fail(frozen_error(process_.pid(), file));
    }
    JITSCOPE_ASSIGN(const uint64_t needed, stub_size(calls_));
    JITSCOPE_ASSIGN(const auto maps, process_.maps());
    JITSCOPE_ASSIGN(const auto places, find_padding(process_, maps, needed));
    Error last{ErrorKind::not_possible, "no thread of the target can be borrowed now",
               fmt::format("pid {}", process_.pid()), "nothing was changed: try again", 0};
    unsigned late = 0;
    for (unsigned attempt = 0; attempt <= options_.retries; ++attempt) {
      if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const Padding& place = places[attempt % places.size()];
      // Where an earlier stub is left, only a full stop tells whether a thread is still in it.
      const bool everyone = stop_all_ || place.leftover != 0;
      auto stop = everyone ? ThreadStop::all(process_, options_.stop_timeout) : stop_one(attempt);
      if (!stop) {
        const bool asleep = stop.error().system_errno == ETIMEDOUT;
        late += asleep ? 1 : 0;
        if (!everyone && stop.error().kind != ErrorKind::not_permitted && late < 3 &&
            !(asleep && all_asleep_)) {
          last = std::move(stop.error());  // that thread exited, or sleeps: another one
          continue;
        }
        return fail(std::move(stop.error()));
      }
      const Result<bool> done = in_stop(*stop, place);
      report_.stop.stopped += stop->resume();
      report_.stop.threads = static_cast<unsigned>(stop->threads().size());
      report_.stop.restarted_calls += stop->restarted_calls();
      ++report_.stop.stops;
      if (!done) return fail(done.error());
      if (*done) return std::move(report_);
    }
    return fail(std::move(last));
  }

 private:
  Result<ThreadStop> stop_one(unsigned attempt) {
    // The leader first; the others when it is gone, asleep or not fit. Where all are asleep one of
    // them is waited for, as long as a stop may take.
    std::vector<pid_t> tids;
    std::vector<pid_t> sleepers;
    for (const pid_t tid : list_threads(process_.pid())) {
      const auto stat = read_task_stat(process_.pid(), tid);
      if (!stat || stat->state == 'Z' || stat->state == 'X') continue;
      (stat->state == 'D' ? sleepers : tids).push_back(tid);
    }
    all_asleep_ = tids.empty();
    if (tids.empty()) tids = std::move(sleepers);
    if (tids.empty()) {
      return fail(process_.alive() ? ErrorKind::not_possible : ErrorKind::target_gone,
                  process_.alive() ? "every thread is exiting"
                                   : fmt::format("process {} has exited", process_.pid()),
                  fmt::format("pid {}", process_.pid()));
    }
    return ThreadStop::one(process_, tids[attempt % tids.size()], options_.stop_timeout);
  }

  // False: nothing done, try another thread or place.
  Result<bool> in_stop(ThreadStop& stop, const Padding& place) {
    JITSCOPE_TRY(check_address_space(process_));
    if (!padding_unchanged(process_, place)) return false;
    if (place.leftover != 0) {
      const CodeRange old{place.address, place.address + place.leftover};
      if (any_thread_at(stop.threads(), old)) return false;
      if (StackScan(process_, stop.threads()).points_into(old)) return false;
    }
    StoppedThread* thread = choose(stop.threads());
    if (thread == nullptr) return false;
    JITSCOPE_TRY(allow_system_calls(*thread));
    if (check_) JITSCOPE_TRY(check_(stop.threads()));
    JITSCOPE_TRY(run_on(*thread, place));
    return true;
  }

  // A thread in a system call before one in the midst of its own code; the leader before others.
  StoppedThread* choose(std::span<StoppedThread> threads) const {
    StoppedThread* best = nullptr;
    int best_score = 0;
    for (StoppedThread& thread : threads) {
      const int score = !may_be_borrowed(process_, thread)
                            ? 0
                            : (in_system_call(thread.registers) || thread.repaired ? 4 : 2) +
                                  (thread.group_stopped ? 0 : 8) +
                                  (thread.tid == process_.pid() ? 1 : 0);
      if (score > best_score) {
        best = &thread;
        best_score = score;
      }
    }
    return best;
  }

  Status run_on(StoppedThread& thread, const Padding& place) {
    const Registers back = before_system_call(thread.registers);
    JITSCOPE_ASSIGN(Bytes stub, assemble_stub(calls_, place.address, back));
    const uint64_t size = std::max<uint64_t>(stub.size(), place.leftover);
    // One write within one page, over all of a stub that was there: whole at every moment.
    Bytes image = stub;
    image.resize(size);
    JITSCOPE_TRY(write_memory(process_, place.address, image));
    BorrowedThread borrowed(process_, thread, CodeRange{place.address, place.address + size});
    const Status made = borrowed.run(calls_, place.address + kStubEntry, options_, report_.results);
    if (borrowed.out_of_stub()) {
      const Status cleared = write_memory(process_, place.address, Bytes(size));
      if (made && !cleared) return cleared;
    }
    return made;
  }

  const Process& process_;
  std::span<const RemoteCall> calls_;
  bool stop_all_;
  StopCheck check_;
  const StopOptions& options_;
  RemoteReport report_;
  bool all_asleep_ = false;
};

// A dead tracer's thread that is still in its stub makes the calls that are left, whenever it runs.
Status no_thread_in_a_stub(const Process& process, std::span<const StoppedThread> threads) {
  JITSCOPE_ASSIGN(const auto maps, process.maps());
  const auto places = find_padding(process, maps, 1);
  if (!places) return {};
  for (const Padding& place : *places) {
    if (place.leftover == 0) continue;
    const CodeRange stub{place.address, place.address + place.leftover};
    if (any_thread_at(threads, stub) || StackScan(process, threads).points_into(stub)) {
      return fail(ErrorKind::not_possible,
                  "a thread has not left the code that a killed jitscope put there",
                  fmt::format("pid {}", process.pid()), "nothing was changed: try again");
    }
  }
  return {};
}

Result<RemoteReport> run(const Process& process, std::span<const RemoteCall> calls, bool stop_all,
                         StopCheck check, const StopOptions& options) {
  if (calls.empty()) return fail(ErrorKind::usage, "no remote call given");
  JITSCOPE_TRY(check_target(process));
  Result<RemoteReport> result;
  as_tracer(process.pid(), [&] {
    result = RemoteRunner(process, calls, stop_all, std::move(check), options).run();
  });
  return result;
}

}  // namespace

Result<RemoteReport> run_remote_calls(const Process& process, std::span<const RemoteCall> calls,
                                      bool stop_all, const std::function<Status()>& before,
                                      const StopOptions& options) {
  StopCheck check;
  if (before) check = [&](std::span<const StoppedThread>) { return before(); };
  return run(process, calls, stop_all, std::move(check), options);
}

Result<RemoteReport> run_in_full_stop(const Process& process, std::span<const RemoteCall> calls,
                                      const StopCheck& check, const StopOptions& options) {
  const auto all = [&](std::span<const StoppedThread> threads) -> Status {
    JITSCOPE_TRY(no_thread_in_a_stub(process, threads));
    return check(threads);
  };
  return run(process, calls, true, all, options);
}

}  // namespace jitscope
