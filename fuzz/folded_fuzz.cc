// Any bytes as folded text.
#include <cstdlib>

#include "folded_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!jitscope::fuzz::check_folded(text).empty()) std::abort();
  return 0;
}
