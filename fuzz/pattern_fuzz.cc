// Any bytes as a pattern and names of methods.
#include <cstdlib>

#include "pattern_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (!jitscope::fuzz::check_pattern(bytes).empty()) std::abort();
  return 0;
}
