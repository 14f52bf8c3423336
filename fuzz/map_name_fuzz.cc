// Names of perf maps are free text: every runtime's splitter keeps the raw name, shows something,
// and what it shows is matched by itself as a pattern.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "code/pattern.h"
#include "runtimes/all_runtimes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using jitscope::Runtime;
  if (size == 0) return 0;
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  for (const Runtime runtime : {Runtime::unknown, Runtime::hotspot, Runtime::v8, Runtime::dotnet,
                                Runtime::erlang, Runtime::php, Runtime::mono}) {
    const jitscope::MapName parsed = jitscope::parse_map_name(runtime, raw);
    const std::string shown = parsed.name.display();
    if (parsed.name.raw != raw || shown.empty()) std::abort();
    for (const std::string_view text : {std::string_view(shown), raw}) {
      if (text.front() <= ' ' || text.back() <= ' ') continue;
      const auto pattern = jitscope::Pattern::parse(text);
      if (pattern && !pattern->matches(parsed.name)) std::abort();
    }
    const jitscope::MethodName* const names[] = {&parsed.name};
    (void)jitscope::nearest_names(raw, names);
  }
  return 0;
}
