// Any bytes that pretend to be a live image.
#include "live_image_check.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_live_image(std::as_bytes(std::span(data, size))).empty()) std::abort();
  return 0;
}
