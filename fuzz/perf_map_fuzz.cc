// Any bytes, split at any places, must give the same lines as the bytes in one piece.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "formats/perfmap/perf_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  jitscope::Diagnostics diagnostics;
  std::vector<jitscope::PerfMapLine> whole;
  jitscope::PerfMapParser at_once("fuzz", diagnostics);
  at_once.feed(text, whole);
  at_once.finish(whole);

  std::vector<jitscope::PerfMapLine> pieces;
  jitscope::PerfMapParser split("fuzz", diagnostics);
  const size_t step = size == 0 ? 1 : 1 + data[0] % 37U;
  for (size_t offset = 0; offset < size; offset += step) {
    split.feed(text.substr(offset, step), pieces);
  }
  split.finish(pieces);

  if (whole.size() != pieces.size() || at_once.lines() != split.lines()) std::abort();
  for (size_t i = 0; i < whole.size(); ++i) {
    if (whole[i].name != pieces[i].name || whole[i].name.empty()) std::abort();
    if (whole[i].address + whole[i].size < whole[i].address) std::abort();
    if (whole[i].number != pieces[i].number) std::abort();
  }
  return 0;
}
