// How far a piece of work is, as one line: "reading perf.data: 45 % of 205 MB, 61 MB/s, 2 s left".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace jitscope {

struct WorkDone {
  uint64_t bytes = 0;
  uint64_t whole = 0;  // 0: not known
  std::chrono::nanoseconds time{};
};
// `what`: "reading perf.data". What is left is told from what was done so far.
[[nodiscard]] std::string progress_text(std::string_view what, const WorkDone& done);

}  // namespace jitscope
