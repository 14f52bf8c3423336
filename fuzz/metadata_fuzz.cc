// Any bytes as CLI metadata.
#include <cstdint>
#include <cstdlib>

#include "metadata_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_metadata(std::as_bytes(std::span(data, size))).empty()) std::abort();
  return 0;
}
