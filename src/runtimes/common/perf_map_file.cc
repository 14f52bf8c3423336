// Finding, checking and following perf map files; see perf_map_file.h. Relies on openat2
// (kernel 5.6) for paths in a container.
#include "runtimes/common/perf_map_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/file_kind.h"
#include "base/open_file.h"

namespace jitscope {
namespace {

constexpr std::string_view kTooLarge = "perf map that is too large: the rest of it is not read";
constexpr size_t kSample = 256;
constexpr int64_t kSecond = 1'000'000'000;

std::string in_directory(std::string_view directory, pid_t pid) {
  return fmt::format("{}/perf-{}.map", directory.empty() ? "/tmp" : directory, pid);
}

std::unexpected<Error> refuse(const PerfMapPlace& place, std::string why, std::string hint = {}) {
  return fail(ErrorKind::not_permitted, fmt::format("perf map refused: {}", why), place.shown(),
              std::move(hint));
}

int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * kSecond + time.tv_nsec;
}

int64_t now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return nanoseconds(time);
}

}  // namespace

std::vector<PerfMapPlace> perf_map_places(const Process& process, std::string_view directory,
                                          std::string_view map_path) {
  if (!map_path.empty()) return {PerfMapPlace{"", std::string(map_path)}};
  std::vector<PerfMapPlace> places;
  const std::string root = root_of(process.pid());
  if (!directory.empty()) places.push_back({root, in_directory(directory, process.ns_pid())});
  places.push_back({root, in_directory({}, process.ns_pid())});
  places.push_back({"", in_directory({}, process.pid())});
  return places;
}

int64_t start_time_ns(const Process& process) {
  // /proc/PID/stat counts from boot as seen from here, like CLOCK_BOOTTIME (fs/proc/array.c).
  const long hertz = std::max(::sysconf(_SC_CLK_TCK), 1L);
  const auto ticks = static_cast<int64_t>(process.start_ticks());
  const int64_t since_boot = ticks / hertz * kSecond + ticks % hertz * (kSecond / hertz);
  return now(CLOCK_REALTIME) - (now(CLOCK_BOOTTIME) - since_boot);
}

namespace {

// Of a file that was opened with O_PATH.
Result<UniqueFd> checked(const UniqueFd& path, const PerfMapPlace& place,
                         const PerfMapTrust& trust) {
  struct stat info{};
  if (::fstat(path.get(), &info) != 0) return fail(system_error("fstat", place.shown()));
  if (S_ISLNK(info.st_mode)) {
    return refuse(place, "it is a symbolic link",
                  "anybody can put one into /tmp; look where it points, then read it with --force");
  }
  if (!S_ISREG(info.st_mode)) {
    return refuse(
        place, fmt::format("it is {}", file_kind(info.st_mode)),
        "remove it: a runtime writes a regular file there (perf itself would wait for ever "
        "where it is a FIFO)");
  }
  if (!trust.force) {
    if (info.st_uid != 0 && info.st_uid != trust.owner) {
      return refuse(
          place,
          fmt::format("it belongs to user {}, the process to user {}", info.st_uid, trust.owner),
          "another user may have put it there; --force reads it nevertheless");
    }
    if (trust.not_before && nanoseconds(info.st_mtim) < *trust.not_before) {
      return refuse(
          place,
          fmt::format("it is {} s older than the process, so it was written by an earlier "
                      "process with this pid",
                      (*trust.not_before - nanoseconds(info.st_mtim)) / kSecond + 1),
          "remove it and start the program with its perf map option; --force reads it "
          "nevertheless");
    }
  }
  UniqueFd file(::open(fmt::format("/proc/self/fd/{}", path.get()).c_str(),
                       O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    return fail(system_error("cannot open the perf map", place.shown())
                    .advise("read it as its owner, or as root"));
  }
  return file;
}

// A file of this name that was removed while the process has it open, as its runtime does. Opened
// with O_PATH; none when there is none, or the process's descriptors are not to be seen.
UniqueFd removed_but_open(const Process& process, const PerfMapPlace& place) {
  // What this program has open are maps that it reads itself.
  if (process.pid() == ::getpid()) return {};
  constexpr size_t most = 65'536;
  const std::string folder = fmt::format("/proc/{}/fd", process.pid());
  const std::string wanted = place.path + " (deleted)";
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(folder.c_str()), ::closedir);
  if (!listing) return {};
  size_t seen = 0;
  for (const dirent* entry = ::readdir(listing.get()); entry != nullptr && seen < most;
       entry = ::readdir(listing.get()), ++seen) {
    const std::string name = folder + '/' + static_cast<const char*>(entry->d_name);
    std::array<char, PATH_MAX> text{};
    const ssize_t length = ::readlink(name.c_str(), text.data(), text.size());
    if (length <= 0) continue;
    // Of another mount namespace the kernel may show more in front.
    if (!std::string_view(text.data(), static_cast<size_t>(length)).ends_with(wanted)) continue;
    UniqueFd file(::open(name.c_str(), O_PATH | O_CLOEXEC));
    struct stat info{};
    // A file of another name may be called so: the right one has no name left.
    if (file && ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 0) {
      return file;
    }
  }
  return {};
}

}  // namespace

Result<UniqueFd> open_perf_map(const PerfMapPlace& place, const PerfMapTrust& trust) {
  // O_PATH opens nothing: no FIFO waits, no device notices.
  const UniqueFd path =
      open_in_root(place.root, place.path, O_PATH | (trust.force ? 0 : O_NOFOLLOW));
  if (!path) return fail(system_error("cannot open the perf map", place.shown()));
  return checked(path, place, trust);
}

Result<UniqueFd> open_perf_map(const Process& process, const PerfMapPlace& place, bool force) {
  // A start time is exact to a clock tick (10 ms) and file times to a jiffy.
  constexpr int64_t kSlack = 50'000'000;
  const PerfMapTrust trust{process.status().uid, start_time_ns(process) - kSlack, force};
  auto file = open_perf_map(place, trust);
  if (file || file.error().kind != ErrorKind::not_found) return file;
  const UniqueFd removed = removed_but_open(process, place);
  return removed ? checked(removed, place, trust) : std::move(file);
}

namespace {

// pread that goes on after short reads; what is there up to `want` bytes.
Result<std::string> read_at(int fd, uint64_t offset, size_t want) {
  std::string out(want, '\0');
  size_t have = 0;
  while (have < want) {
    const ssize_t got =
        ::pread(fd, out.data() + have, want - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(system_error("cannot read the perf map"));
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  out.resize(have);
  return out;
}

}  // namespace

Result<bool> PerfMapFollower::rewritten(uint64_t size) {
  if (size < offset_) return true;
  if (offset_ == 0) return false;
  JITSCOPE_ASSIGN(const std::string head, read_at(fd_.get(), 0, head_.size()));
  JITSCOPE_ASSIGN(const std::string tail, read_at(fd_.get(), offset_ - tail_.size(), tail_.size()));
  return head != head_ || tail != tail_;
}

Result<PerfMapFollower::Growth> PerfMapFollower::read(UniqueFd fd) {
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return fail(system_error("fstat of the perf map"));
  const bool other = !fd_ || identity_of(info) != file_;
  const bool replaced = other && fd_.valid();
  if (other) {
    fd_ = std::move(fd);
    file_ = identity_of(info);
    offset_ = 0;
    parser_.reset();
  }
  JITSCOPE_ASSIGN(Growth growth, read_on());
  growth.anew = growth.anew || replaced;
  return growth;
}

Result<PerfMapFollower::Growth> PerfMapFollower::read_on() {
  Growth growth;
  struct stat info{};
  if (::fstat(fd_.get(), &info) != 0) return fail(system_error("fstat of the perf map"));
  JITSCOPE_ASSIGN(growth.anew, rewritten(static_cast<uint64_t>(std::max<off_t>(info.st_size, 0))));
  if (growth.anew) {
    offset_ = 0;
    parser_.reset();
  }
  constexpr size_t kChunk = 1U << 20U;
  const uint64_t start = offset_;
  const auto size = static_cast<uint64_t>(std::max<off_t>(info.st_size, 0));
  while (true) {
    unread_ = size - std::min(size, offset_);
    if (offset_ >= kMostBytes) {
      if (unread_ != 0 && diagnostics_->count(kTooLarge) == 0) diagnostics_->note(kTooLarge);
      break;
    }
    growth.more = offset_ - start >= kMostAtOnce && unread_ != 0;
    if (growth.more) break;
    JITSCOPE_ASSIGN(const std::string chunk, read_at(fd_.get(), offset_, kChunk));
    if (chunk.empty()) break;
    parser_.feed(chunk, growth.lines);
    if (offset_ == 0) {
      head_ = chunk.substr(0, kSample);
      tail_.clear();
    }
    offset_ += chunk.size();
    tail_ += chunk;
    if (tail_.size() > kSample) tail_.erase(0, tail_.size() - kSample);
    if (chunk.size() < kChunk) break;
  }
  unread_ = size - std::min(size, offset_);
  return growth;
}

}  // namespace jitscope
