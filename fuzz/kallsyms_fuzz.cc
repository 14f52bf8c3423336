// Any text as /proc/kallsyms.
#include "kallsyms_check.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_kallsyms(std::as_bytes(std::span(data, size))).empty()) std::abort();
  return 0;
}
