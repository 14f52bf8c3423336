// Any option and any text as an offline map.
#include "offline_map_check.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_offline_map(std::as_bytes(std::span(data, size))).empty()) {
    std::abort();
  }
  return 0;
}
