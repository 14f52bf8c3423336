// Any bytes as a PE image.
#include "pe_check.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_pe(std::as_bytes(std::span(data, size))).empty()) std::abort();
  return 0;
}
