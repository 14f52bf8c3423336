// SettledCode: the addresses of one process of which it is known that perf, reading the output of
// `inject`, sees there what it has to see; so that most samples need no more than a look at a few
// bits for each address of their stacks.
//
// Answers hold for stretches of code, so addresses are kept as bits of a map: one for each granule
// of 32 bytes, as code is aligned, and where only a part of a granule is settled, one for each of
// its bytes. All of a recording's code is a few hundred kilobytes then. What may no longer hold is
// forgotten: stretches at their time or when something is shown there, all when mappings change.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

#include "session/code_spans.h"

namespace jitscope {

class SettledCode {
 public:
  enum class Kind : uint8_t { open, other, jit, nameless };
  // What answers depend on: with another one they are forgotten, or those that have `growth` as
  // their limit.
  struct State {
    uint32_t generation = 0;  // of the address space
    uint32_t growth = 0;
    uint64_t view = 0;  // PerfView::changed()
    bool operator==(const State&) const = default;
  };

  // Before a sample of this time is looked at; times do not go back.
  void begin(const State& state, uint64_t time) {
    if (state_ != state) change(state);
    if (time >= expiry_) expire(time);
  }
  // The view has changed, at [start, end) alone. A return address there may have its call before.
  void view_changed(uint64_t before, uint64_t after, uint64_t start, uint64_t end) {
    if (state_.view == before) state_.view = after;
    if (start < end) open({start == 0 ? 0 : start - 1, end - 1});
  }

  [[nodiscard]] bool at(uint64_t address) const {
    const Block* const block = find(address);
    return block != nullptr && settled_in(*block, address);
  }
  // How many of these return addresses, from the first one on, have calls that are settled. A
  // marker has none.
  [[nodiscard]] size_t callers(std::span<const uint64_t> ips) const {
    const Slot* const slots = slots_.data();
    const auto* const blocks = reinterpret_cast<const std::byte*>(blocks_.data());
    const unsigned shift = shift_;
    const uint64_t* at = ips.data();
    const uint64_t* const end = at + ips.size();
    for (; at != end; ++at) {
      const uint64_t address = *at - 1;
      const uint64_t number = address >> kBlockBits;
      const Slot& slot = slots[(number * kMix) >> shift];
      if (slot.number == number) [[likely]] {
        const auto& block = *reinterpret_cast<const Block*>(blocks + slot.offset);
        if (block.settled.has(Place(address))) [[likely]]
          continue;
      }
      if (!this->at(address)) break;
    }
    return static_cast<size_t>(at - ips.data());
  }
  [[nodiscard]] Kind kind_at(uint64_t address) const;
  // Counts the address by its kind, without waiting for what it is. False: kind_at() has to tell.
  [[nodiscard]] bool count(uint64_t address, uint64_t& jit, uint64_t& nameless) const {
    const Block* const block = find(address);
    const Place place(address);
    if (block == nullptr || !block->settled.has(place)) return false;
    jit += block->jit.has(place) ? 1 : 0;
    nameless += block->nameless.has(place) ? 1 : 0;
    return true;
  }
  // [low, high] (inclusive) is settled as long as its answer holds; as much of it as lies near
  // `address`, inside. False: addresses like this one are never settled.
  bool settle(uint64_t address, AddressRange range, Kind kind, const AnswerLimits& limits);
  // It no longer is.
  void open(AddressRange range);
  // Changes whenever something is no longer settled.
  [[nodiscard]] uint64_t opened() const { return opened_; }

 private:
  static constexpr unsigned kGranuleBits = 5;
  static constexpr unsigned kBlockBits = 14;
  static constexpr uint64_t kGranule = uint64_t{1} << kGranuleBits;
  static constexpr uint64_t kBlock = uint64_t{1} << kBlockBits;
  static constexpr size_t kFirstSize = 8;
  static constexpr unsigned kFirstShift = 64 - 3;
  // With more of these, all is forgotten: memory stays small, whatever addresses samples have.
  static constexpr size_t kMostBlocks = 1U << 15U;
  static constexpr size_t kMostParts = 1U << 17U;
  static constexpr size_t kMostExpiring = 1U << 19U;
  static constexpr size_t kMostUnmapped = 1U << 12U;

  // Of an address in its block.
  struct Place {
    size_t word = 0;
    unsigned bit = 0;
    explicit Place(uint64_t address)
        : word((address >> (kGranuleBits + 6U)) & (kBlock / kGranule / 64 - 1)),
          bit((address >> kGranuleBits) & 63U) {}
  };
  struct Bits {
    std::array<uint64_t, kBlock / kGranule / 64> words{};
    [[nodiscard]] bool has(Place place) const { return (words[place.word] >> place.bit & 1U) != 0; }
    void set(Place place, bool value) {
      words[place.word] &= ~(uint64_t{1} << place.bit);
      words[place.word] |= uint64_t{value} << place.bit;
    }
  };
  // `partial`: parts_ has the granule, and tells of it.
  struct alignas(64) Block {
    Bits settled;
    Bits partial;
    Bits jit;
    Bits nameless;
  };
  static constexpr uint64_t kFree = UINT64_MAX;  // no block has that number
  struct Slot {
    uint64_t number = kFree;  // of a block
    uint32_t offset = 0;      // in blocks_, bytes
  };
  // A bit for each byte of a granule.
  struct Part {
    uint64_t key = 0;  // granule + 1; 0: free
    uint32_t settled = 0;
    uint32_t jit = 0;
    uint32_t nameless = 0;
  };
  struct Expiring {
    uint64_t until = 0;
    uint64_t low = 0;
    uint64_t high = 0;  // inclusive
    bool operator>(const Expiring& other) const { return until > other.until; }
  };

  static constexpr uint64_t kMix = 0x9e3779b97f4a7c15ULL;
  // Of the block, or the free one where it would be.
  [[nodiscard]] size_t slot_of(uint64_t number) const {
    const size_t mask = slots_.size() - 1;
    size_t slot = (number * kMix) >> shift_;
    while (slots_[slot].number != number && slots_[slot].number != kFree) slot = (slot + 1) & mask;
    return slot;
  }
  [[nodiscard]] const Block* find(uint64_t address) const {
    const Slot& slot = slots_[slot_of(address >> kBlockBits)];
    return slot.number == kFree ? nullptr : &blocks_[slot.offset / sizeof(Block)];
  }
  [[nodiscard]] bool settled_in(const Block& block, uint64_t address) const {
    const Place place(address);
    return block.settled.has(place) || (block.partial.has(place) && in_part(address));
  }
  [[nodiscard]] size_t part_slot(uint64_t granule) const {
    const size_t mask = parts_.size() - 1;
    size_t slot = (granule * kMix) >> 40U & mask;
    while (parts_[slot].key != granule + 1 && parts_[slot].key != 0) slot = (slot + 1) & mask;
    return slot;
  }
  [[nodiscard]] bool in_part(uint64_t address) const {
    const Part& part = parts_[part_slot(address >> kGranuleBits)];
    return (part.settled >> (address & (kGranule - 1)) & 1U) != 0;
  }
  Block& block_of(uint64_t address);
  void grow();
  Part& part_of(Block& block, uint64_t granule);
  void change(const State& state);
  template <typename OnWord, typename OnPart>
  static void for_granules(uint64_t low, uint64_t high, OnWord&& word, OnPart&& part);
  // Whole granules, by their bits of one word.
  static void settle_word(Block& block, size_t word, uint64_t bits, Kind kind);
  bool open_in(Block& block, uint64_t low, uint64_t high);
  void expire(uint64_t time);
  void forget();

  State state_;
  std::vector<Slot> slots_ = std::vector<Slot>(kFirstSize);  // a hash table
  unsigned shift_ = kFirstShift;                             // 64 less the bits of its size
  std::vector<Block> blocks_ = std::vector<Block>(1);        // the first is no slot's
  std::vector<Part> parts_ = std::vector<Part>(kFirstSize);  // a hash table, by granule
  size_t parts_used_ = 0;
  std::priority_queue<Expiring, std::vector<Expiring>, std::greater<>> expiring_;
  uint64_t expiry_ = UINT64_MAX;        // of the first
  std::vector<AddressRange> unmapped_;  // what growth ends
  uint64_t opened_ = 1;
};

}  // namespace jitscope
