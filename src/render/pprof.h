// pprof: a gzip'd profile.proto, as `go tool pprof` and its kin read it.
//
// Two values for each event: samples and the event's own unit. Inlined frames are further lines of
// the location they were inlined into. Addresses are not kept in a profile, so locations have none;
// `system_name` is the name as its source has it. Labels of a sample: pid, tid, comm, and of its
// leaf source and tier.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "profile/profile.h"

namespace jitscope {

struct PprofOptions {
  // Nanoseconds since 1970 at which the recording began; 0 when that is not known (a profile's own
  // times are of the monotonic clock).
  uint64_t wall_clock_start = 0;
  bool compress = true;
  std::map<std::string, std::string> build_ids = {};  // hexadecimal, by a file's path
};

[[nodiscard]] Result<std::string> pprof_profile(const Profile& profile,
                                                const PprofOptions& options = {});

}  // namespace jitscope
