// Any bytes that pretend to be executable memory of a .NET program.
#include <cstdint>
#include <cstdlib>

#include "dotnet_stubs_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_dotnet_stubs(std::as_bytes(std::span(data, size))).empty()) {
    std::abort();
  }
  return 0;
}
