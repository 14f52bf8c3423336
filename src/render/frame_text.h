// What all writers of profiles share: how a frame and a thread are called, and what is counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profile/profile.h"

namespace jitscope {

// What a number in the output counts.
enum class Measure : uint8_t {
  samples,  // each sample is one
  weight,   // the event's own unit: nanoseconds, cycles
};

// The method, with "?" behind it when the name is ambiguous; "[unknown]" when there is none.
[[nodiscard]] std::string shown_name(const Frame& frame);
// "comm", or "comm-pid/tid" (the forms of stackcollapse-perf.pl).
[[nodiscard]] std::string thread_label(const Group& group, bool with_ids);
// "comm pid" of the process the thread belongs to.
[[nodiscard]] std::string process_label(const Group& group);

[[nodiscard]] constexpr bool is_inlined(FrameKind kind) {
  return kind == FrameKind::native_inlined || kind == FrameKind::jit_inlined;
}
// Code that a JIT wrote, inlined or not.
[[nodiscard]] constexpr bool is_jit(FrameKind kind) {
  return kind == FrameKind::jit || kind == FrameKind::jit_inlined || kind == FrameKind::runtime ||
         kind == FrameKind::interpreted;
}

}  // namespace jitscope
