// Any bytes that pretend to be the scopes of a body.
#include "code_scopes_check.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_code_scopes(std::as_bytes(std::span(data, size))).empty())
    std::abort();
  return 0;
}
