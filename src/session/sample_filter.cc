#include "session/sample_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace jitscope {
namespace {

// A recording has far fewer.
constexpr size_t kMostEvents = 4096;
constexpr uint64_t kSampleTime = 1U << 2U;
constexpr uint64_t kSampleCpu = 1U << 7U;

// Of a pipe nothing is known yet.
bool lacks(const perfdata::Header& header, uint64_t part) {
  return !header.events.empty() &&
         std::ranges::none_of(header.events, [&](const perfdata::EventInfo& event) {
           return (event.sample_type & part) != 0;
         });
}

}  // namespace

SampleFilter::SampleFilter(FilterOptions options) : options_(std::move(options)) {
  std::ranges::sort(options_.comms);
  settle_ranges(options_.pids);
  settle_ranges(options_.tids);
  settle_ranges(options_.cpus);
  active_ = !options_.comms.empty() || !options_.pids.empty() || !options_.tids.empty() ||
            !options_.cpus.empty() || !options_.times.empty();
}

Status SampleFilter::settle(const perfdata::Header& header) {
  if (!options_.cpus.empty() && lacks(header, kSampleCpu)) {
    return fail(ErrorKind::not_possible, "--cpu: the recording does not say on which CPU", {},
                "record with `jitscope record`, `perf record -a` or `perf record --sample-cpu`");
  }
  if (!options_.times.empty() && lacks(header, kSampleTime)) {
    return fail(ErrorKind::not_possible, "--time: the recording has no times", {},
                "record with `jitscope record` or `perf record -T`");
  }
  if (!options_.times.relative()) return {};
  if (!header.first_sample_time || !header.last_sample_time) {
    return fail(ErrorKind::not_possible,
                "--time: the recording does not say when it began and ended", {},
                "write seconds: FROM,TO as `jitscope script` prints them");
  }
  options_.times.settle(*header.first_sample_time, *header.last_sample_time);
  return {};
}

bool SampleFilter::takes_thread(const perfdata::Sample& sample, std::string_view comm) const {
  if (!options_.pids.empty() && !holds(options_.pids, sample.head.pid)) return false;
  if (!options_.tids.empty() && !holds(options_.tids, sample.head.tid)) return false;
  if (options_.comms.empty()) return true;
  if (!comm.empty()) return std::ranges::binary_search(options_.comms, comm, std::less<>());
  return std::ranges::binary_search(options_.comms, fmt::format(":{}", sample.head.tid));
}

bool SampleFilter::choose(const perfdata::Sample& sample, std::string_view comm) {
  if ((!options_.cpus.empty() && !holds(options_.cpus, sample.head.cpu)) ||
      !options_.times.holds(sample.head.time)) {
    ++left_out_;
    return false;
  }
  if (takes_thread(sample, comm)) return true;
  ++left_out_;
  if (sample.event >= kMostEvents) return false;
  if (sample.event >= by_thread_.size()) by_thread_.resize(sample.event + 1);
  LeftOut& left_out = by_thread_[sample.event];
  ++left_out.samples;
  left_out.periods += sample.period;
  left_out.without_period += sample.period == 0 ? 1 : 0;
  return false;
}

}  // namespace jitscope
