#include "doctor/advice.h"

#include <string_view>

namespace jitscope {
namespace {

constexpr std::string_view kMonoWritesLate =
    "Mono writes its map in blocks of 4 KB, and the rest when it ends: read the recording again "
    "then";
constexpr std::string_view kV8WritesLate =
    "the dump was started late, or node was killed: V8 writes its jitdump in blocks, and the last "
    "one is lost then; let node end by itself, or use --perf-basic-prof";
constexpr std::string_view kKeepFramePointers =
    "the stack walk went astray: start the JVM with -XX:+PreserveFramePointer";

// JIT code of which nothing tells.
std::string how_to_name(const Program& program) {
  if (program.names_missing) {
    return "the folder in which jitscope record left the names is missing: put it beside the "
           "recording";
  }
  if (program.followed && program.kind.seen_from_outside()) {
    return "the process ended before jitscope record had looked at it, within its first tenth of a "
           "second or so: have the JVM write a jitdump (`jitscope agent`) if these moments matter";
  }
  std::string text = program.kind.how_to_name();
  const bool own = program.runtime != Runtime::unknown && !program.kind.seen_from_outside();
  if (own) text += "; a map that it wrote elsewhere (in a container): --perf-map PID=FILE";
  return text;
}

}  // namespace

std::string advice_for(NoName reason, const Program& program) {
  const Runtime runtime = program.runtime;
  const bool cut = reason == NoName::no_body_then || reason == NoName::empty_dump;
  if (cut && runtime == Runtime::v8) return std::string(kV8WritesLate);
  if (reason == NoName::no_mapping && runtime == Runtime::hotspot) {
    return std::string(kKeepFramePointers);
  }
  const bool late = reason == NoName::no_body_then || reason == NoName::no_line_there;
  if (late && runtime == Runtime::mono) return std::string(kMonoWritesLate);
  if (reason == NoName::no_source) return how_to_name(program);
  return std::string(advice_of(reason));
}

}  // namespace jitscope
