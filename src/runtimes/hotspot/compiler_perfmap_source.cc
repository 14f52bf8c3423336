// Compiler.perfmap as a code source; see compiler_perfmap_source.h.
#include "runtimes/hotspot/compiler_perfmap_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/open_file.h"
#include "base/same_file.h"
#include "base/work_limit.h"
#include "runtimes/common/perf_map_bodies.h"
#include "runtimes/common/perf_map_file.h"
#include "runtimes/hotspot/attach.h"
#include "runtimes/hotspot/hotspot_runtime.h"

namespace jitscope {
namespace {

class CompilerPerfmapSource : public CodeSource {
 public:
  CompilerPerfmapSource(const Process& process, const RuntimeInfo& runtime)
      : process_(process),
        version_(runtime.version),
        name_(fmt::format("perf-{}.map", process.ns_pid())),
        place_{root_of(process.pid()), "/tmp/" + name_},
        bodies_(kHotspotRuntime, SourceKind::compiler_perfmap) {}

  Result<Snapshot> read() override {
    JITSCOPE_ASSIGN(const UniqueFd tmp, open_tmp());
    JITSCOPE_ASSIGN(const bool was_there, check_victim(tmp.get()));
    timespec before{};
    ::clock_gettime(CLOCK_REALTIME, &before);
    const std::array<std::string, 1> arguments = {"Compiler.perfmap"};
    auto answer = attach_command(process_, "jcmd", arguments);
    if (!answer) {
      if (answer.error().what.find("Unknown diagnostic command") != std::string::npos) {
        return fail(ErrorKind::not_possible,
                    fmt::format("JVM {} has no Compiler.perfmap", version_), place_.shown(),
                    "JDK 17 and later have it");
      }
      return fail(std::move(answer.error()));
    }
    // File times are exact to a jiffy.
    const int64_t moment = before.tv_sec * 1'000'000'000 + before.tv_nsec - 50'000'000;
    JITSCOPE_ASSIGN(UniqueFd map, open_perf_map(place_, {process_.status().uid, moment, false}));
    if (!was_there) remove(tmp.get(), map.get());
    PerfMapFollower follower(diagnostics_, place_.shown());
    bodies_.clear();
    const WorkLimit limit{std::chrono::seconds(5)};
    auto growth = follower.read(std::move(map));
    for (;; growth = follower.read_on()) {
      JITSCOPE_TRY(growth);
      for (const PerfMapLine& line : growth->lines) bodies_.add(line, diagnostics_);
      if (!growth->more) break;
      if (WorkLimit::over()) {
        return fail(ErrorKind::damaged, "the JVM's perf map is too large to be read",
                    place_.shown());
      }
    }
    JITSCOPE_ASSIGN(const std::vector<Mapping> maps, process_.maps());
    return Snapshot{bodies_.alive(maps, diagnostics_), 0};
  }

  [[nodiscard]] SourceKind kind() const override { return SourceKind::compiler_perfmap; }
  [[nodiscard]] std::string describe() const override {
    return "jcmd Compiler.perfmap, " + place_.shown();
  }
  [[nodiscard]] std::string caveat() const override {
    return "the JVM's own perf map tells no tiers and no states, lists code that is no longer "
           "entered "
           "and OSR code like any other, and not where calls enter: its methods can be named, not "
           "probed; every reading makes the JVM write " +
           place_.path;
  }
  [[nodiscard]] bool code_is_fixed() const override { return true; }

 private:
  Result<UniqueFd> open_tmp() const {
    UniqueFd tmp = open_in_root(place_.root, "/tmp", O_PATH | O_DIRECTORY);
    if (!tmp) return fail(system_error("cannot open the JVM's /tmp", place_.shown()));
    return tmp;
  }

  // The JVM opens the name for writing and follows links: it must not be led to another file of its
  // user. True when the file exists already.
  Result<bool> check_victim(int tmp) const {
    struct stat info{};
    if (::fstatat(tmp, name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return false;
      return fail(system_error("cannot look at the perf map", place_.shown()));
    }
    if (S_ISREG(info.st_mode) && info.st_nlink == 1 && info.st_uid == process_.status().uid)
      return true;
    return fail(ErrorKind::not_permitted,
                "the name of the JVM's perf map is taken by something that is no file of its user",
                place_.shown(), "remove it");
  }

  // Only what this read caused: the same file still has the name.
  void remove(int tmp, int map) const {
    struct stat ours{};
    struct stat named{};
    if (::fstat(map, &ours) == 0 &&
        ::fstatat(tmp, name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && same_file(ours, named)) {
      ::unlinkat(tmp, name_.c_str(), 0);
    }
  }

  const Process& process_;
  std::string version_;
  std::string name_;
  PerfMapPlace place_;
  PerfMapBodies bodies_;
};

}  // namespace

Result<std::unique_ptr<CodeSource>> open_compiler_perfmap_source(const Process& process,
                                                                 const RuntimeInfo& runtime) {
  auto source = std::make_unique<CompilerPerfmapSource>(process, runtime);
  JITSCOPE_TRY(source->read());
  return source;
}

}  // namespace jitscope
