// The perf map of a live process as a code source; see perf_map_source.h.
#include "runtimes/perf_map_source.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/work_limit.h"
#include "runtimes/perf_map_bodies.h"
#include "runtimes/v8/v8_flags.h"

namespace jitscope {
namespace {

// A map of a million lines is read in one second. What a look did not come to, the next one reads.
constexpr std::chrono::seconds kLongestFirstLook{5};
constexpr std::chrono::milliseconds kLongestLook{200};

V8Flags v8_flags_of(const Process& process) {
  return read_v8_flags(process.arguments(), process.environment("NODE_OPTIONS"));
}

class PerfMapSource : public CodeSource {
 public:
  PerfMapSource(const Process& process, Runtime runtime, PerfMapPlace place, bool force)
      : process_(process),
        runtime_(runtime),
        place_(std::move(place)),
        force_(force),
        not_fixed_(why_code_is_not_fixed(process, runtime)),
        follower_(diagnostics_, place_.shown()),
        bodies_(runtime, SourceKind::perf_map) {}

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
    if (runtime_ == Runtime::hotspot) {
      return "a perf map of a JVM is a picture of one moment, without tiers, states and entry "
             "points: "
             "its methods can be named, not probed";
    }
    if (runtime_ == Runtime::mono) {
      return "Mono writes its perf map in blocks of 4 KB, so that what it compiled last is not in "
             "it yet; and a perf map does not say which code is still in use";
    }
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
  Runtime runtime_;
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
  switch (runtime) {
    case Runtime::hotspot:
      return {};
    case Runtime::v8:
      if (v8_flags_of(process).code_is_fixed) return {};
      return "V8 may move code: start the program with --perf-basic-prof, which keeps it in place";
    case Runtime::php:
      return "PHP's code lies in a shared mapping: a patch would reach forked processes";
    case Runtime::dotnet:
      return ".NET maps its code a second time to write it: a patch could be undone or shared";
    case Runtime::erlang:
      return "Erlang frees code when a module is loaded anew";
    case Runtime::mono:
    case Runtime::unknown:
      break;
  }
  return "it is not known whether this runtime moves or rewrites its code";
}

Result<PerfMapPlace> find_perf_map(const Process& process, const SourceOptions& options) {
  const std::string directory = v8_flags_of(process).map_directory;
  const auto places = perf_map_places(process, directory, options.map_path);
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
