// Any bytes as a perf.data.
#include "perf_data_check.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_perf_data(std::as_bytes(std::span(data, size))).empty()) std::abort();
  return 0;
}
