// perfinfo-PID.map: which .NET images a process loaded, and where, as the runtime writes it beside
// its perf map (dotnet/runtime: src/coreclr/vm/perfinfo.cpp). A line an event, of which only one
// kind matters here:
//
//   ImageLoad;/opt/app/System.Linq.dll;{026d4d21-b3ee-3d93-843f-f7a964235822};0x55ab74010000;
//
// The base stands there from .NET Core 3 on; it is "(nil)" or zero for images without native code.
// No system calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace jitscope {

struct ImageLoad {
  std::string path;
  std::string guid;   // MVID, as normal_guid() gives it
  uint64_t base = 0;  // where the image's first byte lies; 0: not known

  bool operator==(const ImageLoad&) const = default;
};

// Nothing: another kind of line, or a damaged one.
[[nodiscard]] std::optional<ImageLoad> parse_image_load(std::string_view line);
// At most so many.
[[nodiscard]] std::vector<ImageLoad> parse_image_loads(std::string_view text,
                                                       size_t most = 100'000);

}  // namespace jitscope
