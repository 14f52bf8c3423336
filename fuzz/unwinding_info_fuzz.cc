// Any bytes that pretend to be a jitdump's unwinding information.
#include "unwinding_info_check.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_unwinding_info(std::as_bytes(std::span(data, size))).empty()) {
    std::abort();
  }
  return 0;
}
