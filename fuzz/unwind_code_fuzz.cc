// Any bytes that pretend to be code, for its unwind tables.
#include "unwind_code_check.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_unwind_of_code(std::as_bytes(std::span(data, size))).empty()) {
    std::abort();
  }
  return 0;
}
