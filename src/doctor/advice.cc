#include "doctor/advice.h"

#include "runtimes/all_runtimes.h"

namespace jitscope {
namespace {

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
  for (const ReasonAdvice& own : row_of(program.runtime).advice) {
    if (own.reason == reason) return std::string(own.text);
  }
  if (reason == NoName::no_source) return how_to_name(program);
  return std::string(advice_of(reason));
}

}  // namespace jitscope
