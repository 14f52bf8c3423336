// Hit: one call that a probe saw, whoever saw it; and how often a site was hit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace jitscope {

inline constexpr size_t hit_words = 8;

struct Hit {
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint32_t site = 0;
  // As they were at the entry (x86-64): rsi rdx rcx r8 r9 rdi, HotSpot's order of integer
  // arguments.
  std::array<uint64_t, 6> registers{};
  uint64_t rax = 0;
  uint64_t sp = 0;
  uint64_t fp = 0;
  // At sp: the return address, then stack arguments; nothing where they could not be read.
  std::array<uint64_t, hit_words> words{};
  bool words_valid = false;
  // From sp on, as far as it was asked for and could be read; for the time of the call.
  std::span<const std::byte> stack;
};

struct HitCounts {
  uint64_t calls = 0;         // delivered, lost and those that were not to be delivered
  uint64_t sent = 0;          // delivered, or still on the way
  uint64_t lost = 0;          // counted, but not delivered
  uint64_t stale = 0;         // another body lies there now: not counted as calls
  uint64_t redispatched = 0;  // the body was no longer entered: counted where the call arrives
};

}  // namespace jitscope
