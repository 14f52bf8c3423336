// Any bodies, written as an image and read back by libelf and libdw.
#include "code_image_check.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_code_image(std::as_bytes(std::span(data, size))).empty()) std::abort();
  return 0;
}
