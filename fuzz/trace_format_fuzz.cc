// Any bytes as the tracing data of a recording, as one format's text and as a payload.
#include <cstdlib>

#include "trace_format_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  if (!jitscope::fuzz::check_trace_format(bytes).empty()) std::abort();
  return 0;
}
