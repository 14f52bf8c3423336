// The names in the jitdump files that `jitscope record` leaves beside a recording. A jitdump has
// one field for a name; what the follower knows besides it is written behind the name:
//
//   java.util.HashMap.put(java.lang.Object,java.lang.Object) [tier=c2]
//   MethodHandles adapters [tier=stub,runtime=HotSpot]
//   JS:*handle /srv/app/server.js:12:7 [tier=turbofan]
//
// The runtime is left out where the tier tells it. HotSpot's names are MethodName::display(), all
// others are what the runtime itself wrote to its perf map. A name without such an ending is
// nothing but a name.
//
// jit-PID-STARTTICKS.dump has a process's code; what its runtime made for itself besides is in
// jit-PID-STARTTICKS.stubs.dump.
#pragma once

#include <string>
#include <string_view>

#include "code/code_body.h"

namespace jitscope {

struct RecordedName {
  std::string_view name;
  Tier tier = Tier::unknown;
  Runtime runtime = Runtime::unknown;
};

// decode_recorded_name() of it gives the same again, whatever `name` ends with (but for NULs, which
// are left out, and names that are cut at kLongestRecordedName bytes).
[[nodiscard]] std::string encode_recorded_name(std::string_view name, Tier tier, Runtime runtime);
// A view into `text`.
[[nodiscard]] RecordedName decode_recorded_name(std::string_view text);

inline constexpr size_t kLongestRecordedName = 32768;

// How the file of a runtime's own code ends.
inline constexpr std::string_view kStubsDump = ".stubs.dump";

}  // namespace jitscope
