// CodeSpans: stretches of code with one answer, so that a new address costs a look instead of a
// resolution: functions are few, addresses in them many.
//
// Spans are found by the small block that the address lies in: a hash table has the parts of spans
// for those blocks that were asked for. What a block does not know is looked up by address among
// all. When mappings change, everything is forgotten.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <map>

#include "base/large_pages.h"
#include "naming/resolver.h"

namespace jitscope {

// When an answer holds.
struct AnswerLimits {
  uint64_t from = 0;  // in [from, until)
  uint64_t until = kForever;
  uint32_t growth = 0;  // and only as long as nothing is mapped anew; 0: no matter
  bool operator==(const AnswerLimits&) const = default;
  [[nodiscard]] bool allow(uint64_t time, uint32_t growth_now) const {
    return time >= from && time < until && (growth == 0 || growth == growth_now);
  }
  // Given that it held once, it may not later.
  [[nodiscard]] bool expires() const { return until != kForever || growth != 0; }
};

// What the addresses of a range have in common, while it holds.
struct CodeSpan {
  AddressRange range;
  uint64_t shown_bias = 0;  // Location::shown_ip less ip
  uint64_t symbol = 0;      // where it starts
  uint32_t dso = 0;
  FrameId frame = 0;
  uint32_t inlined = 0;
  uint32_t jit = 0;
  bool named = false;  // there is a symbol
  AnswerLimits limits;

  CodeSpan() = default;
  CodeSpan(const Resolution& resolution, uint32_t growth) : range(resolution.range) {
    const Location& location = resolution.location;
    shown_bias = location.shown_ip - location.ip;
    symbol = location.ip - location.symbol_offset;
    dso = location.dso;
    frame = location.frame;
    inlined = location.inlined;
    jit = location.jit;
    named = resolution.named || location.symbol_offset != 0;
    limits = {resolution.valid_from, resolution.valid_until, growth};
  }
  [[nodiscard]] Location at(uint64_t ip) const {
    return {ip, ip + shown_bias, named ? ip - symbol : 0, dso, frame, inlined, jit};
  }
  [[nodiscard]] bool holds(uint64_t address, uint64_t time, uint32_t growth) const {
    return address >= range.low && address <= range.high && limits.allow(time, growth);
  }
  // But for when they hold.
  [[nodiscard]] bool same_code(const CodeSpan& other) const {
    return range == other.range && shown_bias == other.shown_bias && named == other.named &&
           (!named || symbol == other.symbol) && dso == other.dso && frame == other.frame &&
           inlined == other.inlined && jit == other.jit;
  }
};

class CodeSpans {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  CodeSpans() : lines_(kFirstSize) {}

  // See AddressCache.
  void keep_for(uint32_t generation) {
    if (generation == generation_) return;
    generation_ = generation;
    if (used_ == 0) return;
    lines_ = LargeVector<Line>(kFirstSize);
    used_ = 0;
    by_start_.clear();
  }
  void prefetch(uint64_t address) const { __builtin_prefetch(&lines_[place(address >> kBits)]); }
  // A span that the address's block knows, or one without number. It may not hold, if it expires or
  // for times before the latest that was asked for.
  struct Known {
    uint32_t span = kNone;
    bool expires = false;
  };
  [[nodiscard]] Known quick(uint64_t address) const {
    const uint64_t block = address >> kBits;
    const auto offset = static_cast<uint32_t>(address & (kBlock - 1));
    const size_t mask = lines_.size() - 1;
    for (size_t i = place(block);; i = (i + 1) & mask) {
      const Line& line = lines_[i];
      if (const unsigned hits = line.hits(block, offset); hits != 0) {
        const auto way = static_cast<size_t>(std::countr_zero(hits));
        return {line.spans[way], (line.sizes[way] & kExpires) != 0};
      }
      if (line.spans.back() == kNone) return {};
    }
  }
  // The first of those that the block knows that `fits`.
  template <typename Fits>
  [[nodiscard]] uint32_t find(uint64_t address, Fits fits) const {
    const uint64_t block = address >> kBits;
    const auto offset = static_cast<uint32_t>(address & (kBlock - 1));
    const size_t mask = lines_.size() - 1;
    for (size_t i = place(block);; i = (i + 1) & mask) {
      const Line& line = lines_[i];
      for (unsigned hits = line.hits(block, offset); hits != 0; hits &= hits - 1) {
        const uint32_t span = line.spans[static_cast<size_t>(std::countr_zero(hits))];
        if (fits(span)) return span;
      }
      if (line.spans.back() == kNone) return kNone;
    }
  }
  // The span around the address that was found last, whatever its block knows.
  [[nodiscard]] uint32_t around(uint64_t address) const {
    const auto after = by_start_.upper_bound(address);
    return after == by_start_.begin() ? kNone : std::prev(after)->second;
  }
  // Lets the address's block know a span, and those beside it that a span of usual size lies in
  // too.
  void add(uint64_t address, uint32_t span, const CodeSpan& code) {
    const uint64_t first = code.range.low >> kBits;
    const uint64_t last = code.range.high >> kBits;
    if (last - first < kMostBlocks) {
      for (uint64_t block = first; block <= last; ++block) add_part(block, span, code);
    } else {
      add_part(address >> kBits, span, code);
      by_start_.insert_or_assign(code.range.low, span);
    }
  }

 private:
  static constexpr unsigned kBits = 9;
  static constexpr uint64_t kBlock = uint64_t{1} << kBits;
  static constexpr uint64_t kMostBlocks = 8;
  static constexpr size_t kFirstSize = 64;
  static constexpr size_t kWays = 4;
  // Parts of spans in blocks, filled from the front; compared without a branch.
  struct alignas(64) Line {
    std::array<uint64_t, kWays> blocks{};
    std::array<uint32_t, kWays> spans{kNone, kNone, kNone, kNone};
    std::array<uint16_t, kWays> lows{};
    std::array<uint16_t, kWays> sizes{};  // less one, and kExpires
    // A bit for each way that has the place.
    [[nodiscard]] unsigned hits(uint64_t block, uint32_t offset) const {
      unsigned bits = 0;
      for (unsigned k = 0; k < kWays; ++k) {
        const auto inside = unsigned{offset - lows[k] <= (sizes[k] & (kBlock - 1))};
        bits |= (unsigned{blocks[k] == block} & inside & unsigned{spans[k] != kNone}) << k;
      }
      return bits;
    }
  };
  static_assert(sizeof(Line) == 64);
  static constexpr uint16_t kExpires = 1U << 15U;
  [[nodiscard]] size_t place(uint64_t block) const {
    return static_cast<size_t>((block * 0x9e3779b97f4a7c15ULL) >> 32U) & (lines_.size() - 1);
  }
  // Where code is replaced again and again, the span of the same addresses that the block knew is
  // forgotten.
  void add_part(uint64_t block, uint32_t span, const CodeSpan& code) {
    const uint64_t start = block << kBits;
    const uint64_t low = std::max(code.range.low, start) - start;
    const uint64_t high = std::min(code.range.high, start + kBlock - 1) - start;
    const auto size = static_cast<uint16_t>((high - low) | (code.limits.expires() ? kExpires : 0U));
    put_part(block, span, static_cast<uint16_t>(low), size);
  }
  void put_part(uint64_t block, uint32_t span, uint16_t low, uint16_t size) {
    const size_t mask = lines_.size() - 1;
    for (size_t i = place(block);; i = (i + 1) & mask) {
      Line& line = lines_[i];
      for (size_t k = 0; k < kWays; ++k) {
        const bool fresh = line.spans[k] == kNone;
        const bool same = line.blocks[k] == block && line.lows[k] == low &&
                          ((line.sizes[k] ^ size) & (kBlock - 1)) == 0;
        if (!fresh && !same) continue;
        line.blocks[k] = block;
        line.spans[k] = span;
        line.lows[k] = low;
        line.sizes[k] = size;
        if (fresh && ++used_ > lines_.size() * kWays / 2) grow();
        return;
      }
    }
  }
  void grow() {
    LargeVector<Line> old(lines_.size() * 2);
    old.swap(lines_);
    used_ = 0;
    for (const Line& line : old) {
      for (size_t k = 0; k < kWays && line.spans[k] != kNone; ++k) {
        put_part(line.blocks[k], line.spans[k], line.lows[k], line.sizes[k]);
      }
    }
  }
  LargeVector<Line> lines_;
  std::map<uint64_t, uint32_t> by_start_;
  size_t used_ = 0;
  uint32_t generation_ = 0;
};

}  // namespace jitscope
