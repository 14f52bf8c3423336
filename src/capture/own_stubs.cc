// See own_stubs.h.
#include "capture/own_stubs.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "code/recorded_name.h"
#include "runtimes/all_runtimes.h"

namespace jitscope {
namespace {

constexpr uint64_t kShortestPause = 100 * kMillisecond;
constexpr uint64_t kLongestPause = 10'000 * kMillisecond;
constexpr uint64_t kCalm = 250;  // a look takes one part of so many

std::string beside(std::string_view dump) {
  constexpr std::string_view kEnding = ".dump";
  if (dump.ends_with(kEnding)) dump.remove_suffix(kEnding.size());
  return std::string(dump).append(kStubsDump);
}

}  // namespace

OwnStubs::OwnStubs(const std::string& dump, pid_t pid, std::shared_ptr<const UniqueFd> folder)
    : file_(beside(dump), pid, DumpForm::recorded, std::move(folder)) {}

void OwnStubs::look(const Process& process, Runtime runtime, uint64_t begin) {
  const auto open = row_of(runtime).open_stubs;
  const uint64_t now = monotonic_ns();
  if (open == nullptr || failed_) {
    due_ = UINT64_MAX;
    return;
  }
  if (due_ != UINT64_MAX && now < due_) return;
  runtime_ = runtime;
  const uint64_t cpu = thread_cpu_ns();
  const auto snapshot = open(process)->read();
  if (snapshot) {
    const Status written =
        write(known_.update(*snapshot, BodyFile::kLargestBody), begin, process.memory());
    failed_ = !written;
    last_look_ = now;
  }
  const uint64_t cost = thread_cpu_ns() - cpu;
  due_ = failed_ ? UINT64_MAX : now + std::clamp(cost * kCalm, kShortestPause, kLongestPause);
}

Status OwnStubs::write(const KnownBodies::Changes& changes, uint64_t begin, MemoryReader& memory) {
  const uint64_t now = monotonic_ns();
  for (const KnownBodies::Gone& each : changes.gone) file_.gone(each.address, each.size, now);
  std::vector<std::string> names;
  std::vector<BodyFile::Body> bodies;
  names.reserve(changes.fresh.size());
  for (const CodeBody* each : changes.fresh) {
    names.push_back(encode_recorded_name(each->name->display(), each->tier, runtime_));
    BodyFile::Body out;
    out.since = last_look_;
    out.time = last_look_ == 0 ? begin : now;
    out.address = each->address;
    out.size = each->size;
    out.name = names.back();
    bodies.push_back(out);
  }
  return bodies.empty() ? file_.flush() : file_.load(bodies, memory);
}

void OwnStubs::program_ended(uint64_t time) {
  for (const KnownBodies::Gone& each : known_.clear()) file_.gone(each.address, each.size, time);
  if (!file_.flush()) failed_ = true;
  last_look_ = 0;
  due_ = UINT64_MAX;
}

void OwnStubs::finish(uint64_t time) {
  (void)file_.close(time);
}

}  // namespace jitscope
