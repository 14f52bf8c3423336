// Any text as a perf map, looked up by PerfMapIndex and by a search through all lines.
#include "perf_map_index_check.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_perf_map_index(std::as_bytes(std::span(data, size))).empty()) {
    std::abort();
  }
  return 0;
}
