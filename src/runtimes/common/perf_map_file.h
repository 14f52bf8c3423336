// The perf map of one process as a file: where it may lie, whether it can be trusted, and its
// growth.
//
// Perf maps lie in /tmp, where everybody may write: a file counts only when it is a regular file of
// root or of the process's own user, no symbolic link, and not older than the process (a pid is
// used again). The reason for a refusal is the error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "base/same_file.h"
#include "base/unique_fd.h"
#include "formats/perfmap/perf_map.h"
#include "process/process.h"

namespace jitscope {

struct PerfMapPlace {
  std::string root;  // resolve `path` inside this directory ("/proc/12/root"); "" = as it is
  std::string path;
  [[nodiscard]] std::string shown() const { return root + path; }
};

// Where the map of a process may lie, best first; only `map_path` when it is not empty. `directory`
// is where the runtime was told to write maps, "" = /tmp.
[[nodiscard]] std::vector<PerfMapPlace> perf_map_places(const Process& process,
                                                        std::string_view directory,
                                                        std::string_view map_path);

// Opens and checks; one that was removed while the process holds it open is read all the same.
// not_found: no such file. not_permitted: refused, and why. `force` lifts the
// checks of owner, symbolic link and age, never that it must be a regular file.
Result<UniqueFd> open_perf_map(const Process& process, const PerfMapPlace& place, bool force);

// The same for an owner and a moment (nanoseconds of CLOCK_REALTIME) instead of a process.
struct PerfMapTrust {
  uid_t owner = 0;
  std::optional<int64_t> not_before;
  bool force = false;
};
Result<UniqueFd> open_perf_map(const PerfMapPlace& place, const PerfMapTrust& trust);

// When the process was started, nanoseconds of CLOCK_REALTIME as the clock is set now.
[[nodiscard]] int64_t start_time_ns(const Process& process);

// Reads what was appended since the last time.
class PerfMapFollower {
 public:
  // No more than this is read of one file, and at once.
  static constexpr uint64_t kMostBytes = 1U << 30U;
  static constexpr uint64_t kMostAtOnce = 2U << 20U;

  explicit PerfMapFollower(Diagnostics& diagnostics, std::string where)
      : diagnostics_(&diagnostics), parser_(std::move(where), diagnostics) {}

  struct Growth {
    bool anew = false;  // truncated, rewritten or replaced: what was read before no longer counts
    bool more = false;  // there is more to read: what a stranger wrote is taken piece by piece
    std::vector<PerfMapLine> lines;
  };
  // Takes over `fd` when it is another file than before.
  Result<Growth> read(UniqueFd fd);
  [[nodiscard]] bool open() const { return fd_.valid(); }
  // Goes on with the file that is open (its name may be gone).
  Result<Growth> read_on();
  // Bytes that were there at the last call and are not read yet.
  [[nodiscard]] uint64_t unread() const { return unread_; }

 private:
  Result<bool> rewritten(uint64_t size);

  Diagnostics* diagnostics_;
  PerfMapParser parser_;
  UniqueFd fd_;
  DeviceAndInode file_;
  uint64_t offset_ = 0;
  uint64_t unread_ = 0;
  std::string head_;  // the first bytes of the file, and the last ones before offset_: they tell a
  std::string tail_;  // rewritten file from a grown one
};

}  // namespace jitscope
