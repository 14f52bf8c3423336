// The perf map of a live process as a code source; see perf_map_source.h.
#include "runtimes/perf_map_source.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/work_limit.h"
#include "runtimes/all_runtimes.h"
#include "runtimes/common/perf_map_bodies.h"

namespace jitscope {
namespace {

// A map of a million lines is read in one second. What a look did not come to, the next one reads.
constexpr std::chrono::seconds kLongestFirstLook{5};
constexpr std::chrono::milliseconds kLongestLook{200};

// Where its runtime was told to write its map; "" is /tmp.
std::string map_directory_of(const Process& process) {
  for (const RuntimeRow* row : all_runtimes()) {
    if (row->map_directory == nullptr) continue;
    if (std::string directory = row->map_directory(process); !directory.empty()) return directory;
  }
  return {};
}

class PerfMapSource : public CodeSource {
 public:
  PerfMapSource(const Process& process, Runtime runtime, PerfMapPlace place, bool force)
      : process_(process),
        row_(row_of(runtime)),
        place_(std::move(place)),
        force_(force),
        not_fixed_(why_code_is_not_fixed(process, runtime)),
        follower_(diagnostics_, place_.shown()),
        bodies_(row_of(runtime), SourceKind::perf_map) {}

  Result<Snapshot> read() override {
    JITSCOPE_TRY(process_.check_same());
    const WorkLimit limit{std::exchange(looked_, true) ? kLongestLook : kLongestFirstLook};
    JITSCOPE_ASSIGN(bool more, take(grow()));
    while (more && !WorkLimit::over()) {
      JITSCOPE_ASSIGN(more, take(follower_.read_on()));
    }
    if (more) {
      diagnostics_.note("look at a perf map that had no time to read all of it",
                        fmt::format("{} bytes were left", follower_.unread()));
    }
    // After the map: a body whose memory is gone by now is rightly dropped.
    JITSCOPE_ASSIGN(const std::vector<Mapping> maps, process_.maps());
    return Snapshot{bodies_.alive(maps, diagnostics_), 0};
  }

  [[nodiscard]] SourceKind kind() const override { return SourceKind::perf_map; }
  [[nodiscard]] std::string describe() const override { return "perf map " + map_file(); }
  [[nodiscard]] std::string map_file() const override { return place_.shown(); }
  [[nodiscard]] std::string caveat() const override {
    if (!row_.map_caveat.empty()) return std::string(row_.map_caveat);
    return "a perf map does not say which code is still in use";
  }
  [[nodiscard]] bool code_is_fixed() const override { return not_fixed_.empty(); }
  [[nodiscard]] std::string movable_reason() const override { return not_fixed_; }

 private:
  // Whether there is more to read.
  Result<bool> take(Result<PerfMapFollower::Growth> growth) {
    JITSCOPE_TRY(growth);
    if (growth->anew) bodies_.clear();
    for (const PerfMapLine& line : growth->lines) bodies_.add(line, diagnostics_);
    return growth->more;
  }
  // From the file that has the name now, as far as it can be trusted; else from the one that is
  // open.
  Result<PerfMapFollower::Growth> grow() {
    auto fd = open_perf_map(process_, place_, force_);
    if (fd) return follower_.read(std::move(*fd));
    if (!follower_.open()) return fail(std::move(fd.error()));
    if (!std::exchange(lost_, true)) {
      diagnostics_.note("perf map replaced or removed while in use", to_string(fd.error()));
    }
    return follower_.read_on();
  }

  const Process& process_;
  const RuntimeRow& row_;
  PerfMapPlace place_;
  bool force_;
  bool lost_ = false;
  bool looked_ = false;
  std::string not_fixed_;
  PerfMapFollower follower_;
  PerfMapBodies bodies_;
};

}  // namespace

std::string why_code_is_not_fixed(const Process& process, Runtime runtime) {
  const RuntimeRow& row = row_of(runtime);
  if (row.why_not_fixed != nullptr) return row.why_not_fixed(process);
  return "it is not known whether this runtime moves or rewrites its code";
}

Result<PerfMapPlace> find_perf_map(const Process& process, const SourceOptions& options) {
  const auto places = perf_map_places(process, map_directory_of(process), options.map_path);
  Error refused{ErrorKind::not_found, "there is no perf map", places.front().shown(), {}, 0};
  for (const PerfMapPlace& place : places) {
    auto fd = open_perf_map(process, place, options.force);
    if (fd) return place;
    // The first file that is there but refused tells most.
    if (fd.error().kind != ErrorKind::not_found && refused.kind == ErrorKind::not_found) {
      refused = std::move(fd.error());
    }
  }
  return fail(std::move(refused));
}

Result<std::unique_ptr<CodeSource>> open_perf_map_source(const Process& process, Runtime runtime,
                                                         const SourceOptions& options) {
  JITSCOPE_ASSIGN(PerfMapPlace place, find_perf_map(process, options));
  return std::make_unique<PerfMapSource>(process, runtime, std::move(place), options.force);
}

}  // namespace jitscope
