// CodeSpans: stretches of code with one answer, so that a new address costs a look instead of a
// resolution: functions are few, addresses in them many.
//
// Spans are found by the small block that the address lies in: a hash table has the parts of spans
// for those blocks that were asked for. What a block does not know is looked up by address among
// all. When mappings change, everything is forgotten.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "base/large_pages.h"
#include "profile/resolver.h"

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
    named = resolution.named || location.symbol_offset != 0;
    limits = {resolution.valid_from, resolution.valid_until, growth};
  }
  [[nodiscard]] Location at(uint64_t ip) const {
    return {ip, ip + shown_bias, named ? ip - symbol : 0, dso, frame, inlined};
  }
  [[nodiscard]] bool holds(uint64_t address, uint64_t time, uint32_t growth) const {
    return address >= range.low && address <= range.high && limits.allow(time, growth);
  }
  // But for when they hold.
  [[nodiscard]] bool same_code(const CodeSpan& other) const {
    return range == other.range && shown_bias == other.shown_bias && named == other.named &&
           (!named || symbol == other.symbol) && dso == other.dso && frame == other.frame &&
           inlined == other.inlined;
  }
};

class CodeSpans {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  CodeSpans() : parts_(kFirstSize) {}

  // See AddressCache.
  void keep_for(uint32_t generation) {
    if (generation == generation_) return;
    generation_ = generation;
    if (used_ == 0) return;
    parts_ = LargeVector<Part>(kFirstSize);
    used_ = 0;
    by_start_.clear();
  }
  void prefetch(uint64_t address) const { __builtin_prefetch(&parts_[place(address >> kBits)]); }
  // A span that the address's block knows, or one without number. It may not hold, if it expires or
  // for times before the latest that was asked for.
  struct Known {
    uint32_t span = kNone;
    bool expires = false;
  };
  [[nodiscard]] Known quick(uint64_t address) const {
    const uint64_t block = address >> kBits;
    const auto offset = static_cast<uint8_t>(address);
    const size_t mask = parts_.size() - 1;
    for (size_t i = place(block);; i = (i + 1) & mask) {
      const Part& part = parts_[i];
      if ((part.block == block && part.has(offset)) || part.span == kNone) {
        return {part.span, part.expires};
      }
    }
  }
  // The first of those that the block knows that `fits`.
  template <typename Fits>
  [[nodiscard]] uint32_t find(uint64_t address, Fits fits) const {
    const uint64_t block = address >> kBits;
    const auto offset = static_cast<uint8_t>(address);
    const size_t mask = parts_.size() - 1;
    for (size_t i = place(block); parts_[i].span != kNone; i = (i + 1) & mask) {
      const Part& part = parts_[i];
      if (part.block == block && part.has(offset) && fits(part.span)) return part.span;
    }
    return kNone;
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
  static constexpr unsigned kBits = 8;
  static constexpr uint64_t kBlock = uint64_t{1} << kBits;
  static constexpr uint64_t kMostBlocks = 16;
  static constexpr size_t kFirstSize = 256;
  // What a block has of a span.
  struct Part {
    uint64_t block = 0;
    uint32_t span = kNone;
    uint8_t low = 0;
    uint8_t high = 0;  // inclusive
    bool expires = false;
    [[nodiscard]] bool has(uint8_t offset) const { return offset >= low && offset <= high; }
  };
  static_assert(sizeof(Part) == 16);
  [[nodiscard]] size_t place(uint64_t block) const {
    return static_cast<size_t>((block * 0x9e3779b97f4a7c15ULL) >> 32U) & (parts_.size() - 1);
  }
  // Where code is replaced again and again, the span of the same addresses that the block knew is
  // forgotten.
  void add_part(uint64_t block, uint32_t span, const CodeSpan& code) {
    Part part;
    part.block = block;
    const uint64_t start = block << kBits;
    part.low = static_cast<uint8_t>(std::max(code.range.low, start) - start);
    part.high = static_cast<uint8_t>(std::min(code.range.high, start + kBlock - 1) - start);
    part.expires = code.limits.expires();
    part.span = span;
    const size_t mask = parts_.size() - 1;
    size_t i = place(block);
    for (; parts_[i].span != kNone; i = (i + 1) & mask) {
      Part& other = parts_[i];
      if (other.block != block || other.low != part.low || other.high != part.high) continue;
      other = part;
      return;
    }
    parts_[i] = part;
    if (++used_ * 2 > parts_.size()) grow();
  }
  void grow() {
    LargeVector<Part> old(parts_.size() * 2);
    old.swap(parts_);
    const size_t mask = parts_.size() - 1;
    for (const Part& part : old) {
      if (part.span == kNone) continue;
      size_t i = place(part.block);
      while (parts_[i].span != kNone) i = (i + 1) & mask;
      parts_[i] = part;
    }
  }
  LargeVector<Part> parts_;
  std::map<uint64_t, uint32_t> by_start_;
  size_t used_ = 0;
  uint32_t generation_ = 0;
};

}  // namespace jitscope
