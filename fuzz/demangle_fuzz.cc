// Any text as a mangled name: ends in time, and grows within its bound.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "symbolize/demangle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  constexpr size_t most = size_t{1} << 18;
  if (jitscope::demangle(name).size() > most + size) std::abort();
  if (jitscope::demangle_short(name).size() > most + size) std::abort();
  return 0;
}
