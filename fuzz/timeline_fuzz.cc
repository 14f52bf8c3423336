// Random records, asked of Timeline and of a model that goes through all of them.
#include "timeline_check.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_timeline(std::as_bytes(std::span(data, size))).empty()) std::abort();
  return 0;
}
