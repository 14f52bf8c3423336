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

constexpr uint64_t kShortestStubPause = 100 * kMillisecond;
constexpr uint64_t kLongestStubPause = 60'000 * kMillisecond;
constexpr uint64_t kStubCalm = 250;  // a look takes one part of so many

std::string stubs_beside(std::string_view dump) {
  constexpr std::string_view kEnding = ".dump";
  if (dump.ends_with(kEnding)) dump.remove_suffix(kEnding.size());
  return std::string(dump).append(kStubsDump);
}

}  // namespace

OwnStubs::OwnStubs(const std::string& dump, pid_t pid, std::shared_ptr<const UniqueFd> folder)
    : file_(stubs_beside(dump), pid, DumpForm::recorded, std::move(folder)) {}

void OwnStubs::look(const Process& process, Runtime runtime, uint64_t begin) {
  if (row_of(runtime).open_stubs == nullptr || failed_) {
    due_ = UINT64_MAX;
    return;
  }
  if (due_ != UINT64_MAX && monotonic_ns() < due_) return;
  runtime_ = runtime;
  begin_ = begin;
  look_now(process);
}

void OwnStubs::look_now(const Process& process) {
  const uint64_t now = monotonic_ns();
  const uint64_t cpu = thread_cpu_ns();
  const auto snapshot = row_of(runtime_).open_stubs(process)->read();
  if (snapshot) {
    const Status written =
        write(known_.update(*snapshot, BodyFile::kLargestBody), process.memory());
    failed_ = !written;
    last_look_ = now;
  }
  const uint64_t cost = thread_cpu_ns() - cpu;
  const bool gone = !snapshot && snapshot.error().kind == ErrorKind::target_gone;
  due_ = failed_ || gone
             ? UINT64_MAX
             : now + std::clamp(cost * kStubCalm, kShortestStubPause, kLongestStubPause);
}

Status OwnStubs::write(const KnownBodies::Changes& changes, MemoryReader& memory) {
  const uint64_t now = monotonic_ns();
  for (const KnownBodies::Gone& each : changes.gone) file_.gone(each.address, each.size, now);
  std::vector<std::string> names;
  std::vector<BodyFile::Body> bodies;
  names.reserve(changes.fresh.size());
  for (const CodeBody* each : changes.fresh) {
    names.push_back(encode_recorded_name(each->name->display(), each->tier, runtime_));
    BodyFile::Body out;
    out.since = last_look_;
    out.time = last_look_ == 0 ? begin_ : now;
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

void OwnStubs::finish(const Process& process, uint64_t time) {
  if (due_ != UINT64_MAX) look_now(process);
  (void)file_.close(time);
}

}  // namespace jitscope
