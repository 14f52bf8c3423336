#include "export/live_dump.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/output_folder.h"
#include "base/unique_fd.h"
#include "runtimes/detect.h"

namespace jitscope {
namespace {

// CLOCK_MONOTONIC of a start in clock ticks since boot. The two clocks differ by suspended time,
// so that this is not before the start, at worst after it; never in the future.
uint64_t start_time(uint64_t ticks) {
  const auto per_second = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  const uint64_t now = monotonic_ns();
  if (per_second == 0) return now;
  const uint64_t start = ticks * (1'000'000'000U / per_second);
  return std::min(std::max<uint64_t>(start, 1), now);
}

// Where its files are from here on.
std::string root_of(const Process& process) {
  return process.other_mount_namespace() ? fmt::format("/proc/{}/root", process.pid()) : "";
}

}  // namespace

Error with_own_jitdump(Error error, const Process& process) {
  if (error.kind != ErrorKind::not_possible) return error;
  const auto maps = process.maps();
  if (!maps) return error;
  const std::string dump = mapped_jitdump(process, find_jit_mappings(process, *maps));
  if (dump.empty()) return error;
  return Error{error.kind, "the process writes a jitdump itself", root_of(process) + dump,
               "it can be used as it is; an image of it: jitscope image build --jitdump FILE", 0};
}

Result<LiveDump> LiveDump::create(pid_t pid, std::string path, const SourceOptions& source,
                                  bool whole_life, DumpForm form) {
  JITSCOPE_ASSIGN(OutputPlace place, output_place(path));
  struct stat there = {};
  if (::fstatat(place.folder.get(), place.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0) {
    return fail(ErrorKind::usage, "the output is there already", path, "name another: -o FILE");
  }
  JITSCOPE_ASSIGN(Process process, Process::open(pid));
  const uint64_t begin = whole_life ? start_time(process.start_ticks()) : monotonic_ns();
  LiveDump dump;
  dump.path_ = path;
  dump.root_ = root_of(process);
  dump.process_ =
      std::make_unique<FollowedProcess>(std::move(process), std::move(path), source, begin, form,
                                        std::make_shared<const UniqueFd>(std::move(place.folder)));
  return dump;
}

LiveDump::LiveDump(LiveDump&& other) noexcept
    : path_(std::move(other.path_)),
      root_(std::move(other.root_)),
      process_(std::move(other.process_)),
      marker_(std::exchange(other.marker_, nullptr)),
      marker_bytes_(other.marker_bytes_) {}
LiveDump& LiveDump::operator=(LiveDump&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(root_, other.root_);
  std::swap(process_, other.process_);
  std::swap(marker_, other.marker_);
  std::swap(marker_bytes_, other.marker_bytes_);
  return *this;
}
LiveDump::~LiveDump() {
  if (marker_ != nullptr) ::munmap(marker_, marker_bytes_);
}

void LiveDump::mark() {
  const UniqueFd fd = process_->open_file();
  if (!fd) return;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* mapped = ::mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  if (mapped == MAP_FAILED) return;
  marker_ = mapped;
  marker_bytes_ = page;
}

bool LiveDump::ended() const {
  return process_->state() == FollowedProcess::State::ended;
}

Status LiveDump::look() {
  process_->look();
  const FollowedSummary summary = process_->summary();
  if (process_->state() == FollowedProcess::State::self_dumped) {
    return fail(ErrorKind::not_possible, "the process writes a jitdump itself",
                root_ + summary.own_jitdump, "it can be used as it is");
  }
  if (summary.bodies != 0 && marker_ == nullptr) mark();
  if (process_->state() == FollowedProcess::State::searching) {
    return fail(summary.jit ? ErrorKind::not_possible : ErrorKind::not_found, summary.reason, {},
                summary.hint);
  }
  if (ended() && !summary.reason.empty()) {
    return fail(ErrorKind::not_possible, summary.reason, path_, summary.hint);
  }
  return {};
}

void LiveDump::finish() {
  process_->finish();
}

}  // namespace jitscope
