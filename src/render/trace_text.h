// A trace as text and as JSON lines (docs/json.md has the schema).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "probe/arguments.h"
#include "probe/tracer.h"
#include "symbolize/stack_namer.h"

namespace jitscope {

struct CallLine {
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  uint32_t pid = 0;
  uint32_t tid = 0;
  std::string_view method;  // display name
  std::string_view short_name;
  std::span<const ArgumentValue> arguments;
  const Stack* stack = nullptr;  // null: not asked for
};

void append_call_text(std::string& out, const CallLine& line);
void append_call_json(std::string& out, const CallLine& line);

// " by trampoline", or ": 2 by trampoline, 1 by breakpoint" where single bodies fell back.
[[nodiscard]] std::string backends_text(const TraceStart& start);
[[nodiscard]] std::string started_json(const TraceStart& start);
// Names are cut so that lines have `width` characters at most; 0: they are not.
[[nodiscard]] std::string summary_text(const TraceReport& report, size_t width = 0);
[[nodiscard]] std::string summary_json(const TraceReport& report);  // one line a method

// "0.9 ms", "1.2 s".
[[nodiscard]] std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace jitscope
