// libFuzzer target: HotSpot's structures, names and probe notes out of hostile memory.
#include "hotspot_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)jitscope::hotspot::test::fuzz_hotspot(std::as_bytes(std::span(data, size)));
  return 0;
}
