// Any bytes as a .NET single-file program and as its manifest.
#include "bundle_check.h"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_bundle(std::as_bytes(std::span(data, size))).empty()) std::abort();
  return 0;
}
