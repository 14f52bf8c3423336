// apply_patches: one stop, checks, writes; refused patches are left alone, a failed write takes all
// back.
#include <fmt/format.h>
#include <limits.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <optional>
#include <thread>

#include "base/page.h"
#include "process/tasks.h"
#include "surgery/ptrace_thread.h"
#include "surgery/stack_scan.h"
#include "surgery/surgery.h"
#include "surgery/thread_stop.h"
#include "surgery/write_memory.h"

namespace jitscope {
namespace {

constexpr uint64_t kLongestExpected = 1U << 16U;

std::string patch_place(size_t index, const Patch& patch) {
  return fmt::format("patch {}, address {:#x}", index, patch.address);
}

// What would not be safe, whatever the target's state.
Status check_patches(std::span<const Patch> patches) {
  std::vector<size_t> order(patches.size());
  std::iota(order.begin(), order.end(), 0);
  for (const size_t i : order) {
    const Patch& patch = patches[i];
    const uint64_t size = patch.replacement.size();
    if (size == 0 || patch.expected.size() < size || patch.expected.size() > kLongestExpected) {
      return fail(ErrorKind::usage, "a patch must expect at least the bytes that it replaces",
                  patch_place(i, patch));
    }
    // The kernel copies page by page: a tracer killed in between would leave half a patch.
    if (patch.address / kPage != (patch.address + size - 1) / kPage) {
      return fail(ErrorKind::not_possible, "the patch crosses a page boundary",
                  patch_place(i, patch),
                  "such a place cannot be patched so that it is whole at every moment");
    }
  }
  std::ranges::sort(order, {}, [&](size_t i) { return patches[i].address; });
  for (size_t i = 1; i < order.size(); ++i) {
    const Patch& before = patches[order[i - 1]];
    if (patches[order[i]].address < before.address + before.replacement.size()) {
      return fail(ErrorKind::usage, "two patches overlap",
                  patch_place(order[i], patches[order[i]]));
    }
  }
  return {};
}

class Patcher {
 public:
  Patcher(const Process& process, std::span<const Patch> patches, const StopOptions& options)
      : process_(process), patches_(patches), options_(options) {
    pending_.resize(patches.size());
    std::iota(pending_.begin(), pending_.end(), 0);
    report_.outcomes.resize(patches.size(), PatchOutcome::refused_thread);
    report_.stop.stops = 0;
  }

  Result<SurgeryReport> run() {
    for (unsigned attempt = 0; !pending_.empty() && attempt <= options_.retries; ++attempt) {
      // Threads get the time to leave the covered bytes.
      if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (Status status = one_stop(); !status) {
        // What earlier stops wrote is there, and the caller has to know: the others were refused.
        if (written_.empty() || status.error().kind == ErrorKind::target_gone) {
          return fail(std::move(status.error()));
        }
        break;
      }
    }
    return std::move(report_);
  }

 private:
  Status one_stop() {
    JITSCOPE_ASSIGN(ThreadStop stop, ThreadStop::all(process_, options_.stop_timeout));
    Status status = check_address_space(process_);
    if (status) {
      const std::vector<size_t> chosen = decide(stop.threads());
      status = write(chosen);
    }
    report_.stop.stopped += stop.resume();
    report_.stop.threads = static_cast<unsigned>(stop.threads().size());
    report_.stop.restarted_calls += stop.restarted_calls();
    ++report_.stop.stops;
    return status;
  }

  // Sorts the pending patches into those to write now, those refused, and those to try again.
  std::vector<size_t> decide(std::span<const StoppedThread> threads) {
    const std::vector<PatchOutcome> bytes = compare_bytes();
    std::optional<StackScan> stacks;
    std::vector<size_t> chosen;
    std::vector<size_t> again;
    for (size_t n = 0; n < pending_.size(); ++n) {
      const size_t i = pending_[n];
      const Patch& patch = patches_[i];
      if (bytes[n] != PatchOutcome::applied) {
        report_.outcomes[i] = bytes[n];
        continue;
      }
      bool busy = false;
      if (patch.covered > 1) {
        const CodeRange inside{patch.address + 1, patch.address + patch.covered};
        busy = any_thread_at(threads, inside);
        if (!busy && patch.scan_stacks) {
          if (!stacks) stacks.emplace(process_, threads);
          busy = stacks->points_into(inside);
        }
      }
      (busy ? again : chosen).push_back(i);
    }
    pending_ = std::move(again);
    return chosen;
  }

  // For each pending patch: applied (all as expected), refused_bytes or refused_guard.
  std::vector<PatchOutcome> compare_bytes() {
    struct Check {
      size_t pending;  // index into pending_
      const Bytes* expected;
      PatchOutcome otherwise;
    };
    std::vector<Check> checks;
    std::vector<MemoryReader::Range> ranges;
    size_t total = 0;
    const auto add = [&](size_t n, uint64_t address, const Bytes& expected,
                         PatchOutcome otherwise) {
      checks.push_back({n, &expected, otherwise});
      ranges.push_back({address, {}, false});
      total += expected.size();
    };
    for (size_t n = 0; n < pending_.size(); ++n) {
      const Patch& patch = patches_[pending_[n]];
      add(n, patch.address, patch.expected, PatchOutcome::refused_bytes);
      for (const Guard& guard : patch.guards) {
        add(n, guard.address, guard.expected, PatchOutcome::refused_guard);
      }
    }
    Bytes buffer(total);
    auto rest = std::span(buffer);
    for (size_t i = 0; i < checks.size(); ++i) {
      ranges[i].out = rest.first(checks[i].expected->size());
      rest = rest.subspan(checks[i].expected->size());
    }
    process_.memory().read_many(ranges);
    std::vector<PatchOutcome> result(pending_.size(), PatchOutcome::applied);
    for (size_t i = 0; i < checks.size(); ++i) {
      PatchOutcome& outcome = result[checks[i].pending];
      if (outcome == PatchOutcome::applied &&
          (!ranges[i].ok || !std::ranges::equal(ranges[i].out, *checks[i].expected))) {
        outcome = checks[i].otherwise;
      }
    }
    return result;
  }

  // Writes all of `chosen`, in the order of the caller, or takes all back.
  Status write(const std::vector<size_t>& chosen) {
    size_t next = 0;
    while (next < chosen.size()) {
      next += write_batch(std::span(chosen).subspan(next));
      if (next == chosen.size()) break;
      // The page is not writable (or gone): the slower way, which makes a private copy of it.
      const Patch& patch = patches_[chosen[next]];
      if (Status status = write_memory(process_, patch.address, patch.replacement); !status) {
        if (status.error().kind == ErrorKind::target_gone) return status;
        return roll_back(chosen, next, status.error());
      }
      ++next;
    }
    for (const size_t i : chosen) report_.outcomes[i] = PatchOutcome::applied;
    written_.insert(written_.end(), chosen.begin(), chosen.end());
    return {};
  }

  // process_vm_writev of as many as it takes; returns how many are whole. No patch crosses a page,
  // so none is written in part.
  size_t write_batch(std::span<const size_t> chosen) {
    const size_t count = std::min<size_t>(chosen.size(), IOV_MAX);
    std::vector<iovec> local(count);
    std::vector<iovec> remote(count);
    for (size_t i = 0; i < count; ++i) {
      const Patch& patch = patches_[chosen[i]];
      local[i] = {const_cast<std::byte*>(patch.replacement.data()), patch.replacement.size()};
      remote[i] = {reinterpret_cast<void*>(static_cast<uintptr_t>(patch.address)),
                   patch.replacement.size()};
    }
    const ssize_t put = ::process_vm_writev(live_thread(process_.pid()), local.data(), count,
                                            remote.data(), count, 0);
    size_t left = put > 0 ? static_cast<size_t>(put) : 0;
    size_t whole = 0;
    while (whole < count && left >= remote[whole].iov_len) left -= remote[whole++].iov_len;
    return whole;
  }

  // All or nothing: also what earlier stops of this surgery wrote is undone, where it is still
  // ours.
  Status roll_back(const std::vector<size_t>& chosen, size_t failed, const Error& why) {
    report_.failure = fmt::format("{}: {}", patch_place(chosen[failed], patches_[chosen[failed]]),
                                  to_string(why));
    std::vector<size_t> undo = written_;
    undo.insert(undo.end(), chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(failed));
    for (size_t n = undo.size(); n-- > 0;) {
      const Patch& patch = patches_[undo[n]];
      Bytes now(patch.replacement.size());
      if (!process_.memory().read(patch.address, now) || now != patch.replacement) continue;
      const Status back = write_memory(process_, patch.address,
                                       std::span(patch.expected).first(patch.replacement.size()));
      if (!back) return back;
      report_.outcomes[undo[n]] = PatchOutcome::rolled_back;
    }
    for (const size_t i : chosen) report_.outcomes[i] = PatchOutcome::rolled_back;
    for (const size_t i : pending_) report_.outcomes[i] = PatchOutcome::rolled_back;
    pending_.clear();
    written_.clear();
    return {};
  }

  const Process& process_;
  std::span<const Patch> patches_;
  const StopOptions& options_;
  std::vector<size_t> pending_;  // not yet applied nor refused for good
  std::vector<size_t> written_;
  SurgeryReport report_;
};

}  // namespace

Result<SurgeryReport> apply_patches(const Process& process, std::span<const Patch> patches,
                                    const StopOptions& options) {
  JITSCOPE_TRY(check_patches(patches));
  JITSCOPE_TRY(check_target(process));
  if (patches.empty()) return SurgeryReport{};
  Result<SurgeryReport> result;
  as_tracer(process.pid(), [&] { result = Patcher(process, patches, options).run(); });
  return result;
}

}  // namespace jitscope
