// Any bytes as a ReadyToRun image.
#include <cstdint>
#include <cstdlib>

#include "r2r_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_r2r(std::as_bytes(std::span(data, size))).empty()) std::abort();
  return 0;
}
