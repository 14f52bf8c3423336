// Any bytes as an ELF image with symbols and debug information.
#include "elf_image_check.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (!jitscope::fuzz::check_elf_image(std::as_bytes(std::span(data, size))).empty()) std::abort();
  return 0;
}
