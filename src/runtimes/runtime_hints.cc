// The perf map options of the runtimes; see runtime_hints.h.
#include "runtimes/runtime_hints.h"

namespace jitscope {

std::string how_to_get_a_perf_map(Runtime runtime) {
  switch (runtime) {
    case Runtime::hotspot:
      return "run jcmd PID Compiler.perfmap";
    case Runtime::v8:
      return "start node with --perf-basic-prof";
    case Runtime::dotnet:
      return "start it with DOTNET_PerfMapEnabled=1 in its environment";
    case Runtime::erlang:
      return "start erl with +JPperf map";
    case Runtime::php:
      return "start php with -d opcache.jit_debug=0x10";
    case Runtime::mono:
      return "start mono with --jitmap";
    case Runtime::unknown:
      break;
  }
  return "its runtime must write /tmp/perf-PID.map (python -X perf, for one)";
}

std::string how_to_get_a_perf_map(Runtime runtime, const RuntimeKind& kind) {
  const bool finer = runtime == Runtime::unknown && !kind.name().empty();
  return finer ? kind.how_to_name() : how_to_get_a_perf_map(runtime);
}

}  // namespace jitscope
