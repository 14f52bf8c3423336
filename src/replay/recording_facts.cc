#include "replay/recording_facts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <ctime>

namespace jitscope {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

int64_t nanoseconds(const timespec& time) {
  return static_cast<int64_t>(time.tv_sec) * kSecond + time.tv_nsec;
}

// The moment of this machine's boot on the wall clock.
int64_t boot_wall_time() {
  timespec wall{};
  timespec since_boot{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return nanoseconds(wall) - nanoseconds(since_boot);
}

}  // namespace

RecordingFacts::RecordingFacts(std::string path, const perfdata::Header& header)
    : path_(std::move(path)), header_(&header) {
  if (path_ != "-" && !path_.empty()) {
    const size_t slash = path_.rfind('/');
    folder_ = slash == std::string::npos ? "./" : path_.substr(0, slash + 1);
    struct stat status{};
    if (::stat(path_.c_str(), &status) == 0) {
      owner_ = status.st_uid;
      modified_ = nanoseconds(status.st_mtim);
    }
  }
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  this_machine_ = header.hostname.empty() || header.hostname == name.data();
  // Slack: clocks are set, and the file may have been touched late.
  if (modified_ && *modified_ < boot_wall_time() - 5 * kSecond) this_machine_ = false;
}

std::string RecordingFacts::names_folder() const {
  if (!by_jitscope() || !header_->version.ends_with(kWithNames)) return {};
  return path_ + ".jit";
}

bool RecordingFacts::names_are_missing() const {
  const std::string folder = names_folder();
  struct stat status{};
  return !folder.empty() && ::stat(folder.c_str(), &status) != 0;
}

std::optional<uint64_t> RecordingFacts::time_of_ticks(uint64_t ticks) const {
  // linux: tools/perf/util/tsc.c, tsc_to_perf_time.
  const auto& conversion = header_->time_conversion;
  if (!conversion || conversion->shift >= 64 || conversion->multiplier == 0) return std::nullopt;
  if (header_->clock() >= 0) return std::nullopt;  // -k: sample times are of another clock
  uint64_t cycles = ticks;
  if (conversion->capable_short) {
    cycles = conversion->cycles + ((ticks - conversion->cycles) & conversion->mask);
  }
  const uint64_t quotient = cycles >> conversion->shift;
  const uint64_t rest = cycles & ((uint64_t{1} << conversion->shift) - 1);
  return conversion->zero + quotient * conversion->multiplier +
         ((rest * conversion->multiplier) >> conversion->shift);
}

std::optional<int64_t> RecordingFacts::wall_time(uint64_t time) const {
  if (header_->clock_pair) {
    return static_cast<int64_t>(header_->clock_pair->wall + (time - header_->clock_pair->clock));
  }
  // perf writes the file to its end right after the last sample.
  if (modified_ && header_->last_sample_time) {
    return *modified_ - static_cast<int64_t>(*header_->last_sample_time - time);
  }
  return std::nullopt;
}

int64_t RecordingFacts::wall_slack() const {
  return header_->clock_pair ? kSecond : 60 * kSecond;
}

}  // namespace jitscope
