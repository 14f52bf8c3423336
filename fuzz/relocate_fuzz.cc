// Any bytes as a method's entry.
#include "relocate_check.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_relocate(std::as_bytes(std::span(data, size))).empty()) std::abort();
  return 0;
}
