#include "inject/settled.h"

#include <algorithm>
#include <utility>

namespace jitscope {
namespace {

// Nothing that could be taken for a marker of a callchain, or for the call before one.
constexpr uint64_t kLast = perfdata::kContextMax - 2;

// The bytes of a granule that [low, high] has.
uint32_t bytes_of(uint64_t granule, uint64_t low, uint64_t high) {
  constexpr uint64_t last = 31;
  const uint64_t from = std::max(low, granule) - granule;
  const uint64_t to = std::min(high - granule, last);
  return (UINT32_MAX >> (last - to)) & (UINT32_MAX << from);
}

// The bits [from, to] of a word.
uint64_t bits_between(uint64_t from, uint64_t to) {
  return (UINT64_MAX >> (63 - to)) & (UINT64_MAX << from);
}

}  // namespace

SettledCode::Kind SettledCode::kind_at(uint64_t address) const {
  const Block* const found = find(address);
  if (found == nullptr) return Kind::open;
  const Block& block = *found;
  const Place place(address);
  if (block.settled.has(place)) {
    if (block.jit.has(place)) return Kind::jit;
    return block.nameless.has(place) ? Kind::nameless : Kind::other;
  }
  if (!block.partial.has(place)) return Kind::open;
  const Part& part = parts_[part_slot(address >> kGranuleBits)];
  const uint32_t bit = uint32_t{1} << (address & (kGranule - 1));
  if ((part.settled & bit) == 0) return Kind::open;
  if ((part.jit & bit) != 0) return Kind::jit;
  return (part.nameless & bit) != 0 ? Kind::nameless : Kind::other;
}

SettledCode::Block& SettledCode::block_of(uint64_t address) {
  const uint64_t number = address >> kBlockBits;
  size_t slot = slot_of(number);
  if (slots_[slot].number == kFree) {
    if (2 * (blocks_.size() + 1) > slots_.size()) {
      std::vector<Slot> old(2 * slots_.size());
      old.swap(slots_);
      --shift_;
      for (const Slot& each : old) {
        if (each.number != kFree) slots_[slot_of(each.number)] = each;
      }
      slot = slot_of(number);
    }
    slots_[slot] = {number, static_cast<uint32_t>(blocks_.size() * sizeof(Block))};
    blocks_.emplace_back();
  }
  return blocks_[slots_[slot].offset / sizeof(Block)];
}

// word(number, bits) for the granules that [low, high], in one block, has as a whole, and
// part(start, bytes) for those of which it has a part.
template <typename OnWord, typename OnPart>
void SettledCode::for_granules(uint64_t low, uint64_t high, OnWord&& word, OnPart&& part) {
  constexpr uint64_t all_but = kGranule - 1;
  const uint64_t last = high & ~all_but;
  uint64_t next = low & ~all_but;
  if (const uint32_t bytes = bytes_of(next, low, high); bytes != UINT32_MAX) {
    part(next, bytes);
    if (next == last) return;
    next += kGranule;
  }
  uint64_t whole = last;  // the last one that is
  if (const uint32_t bytes = bytes_of(last, low, high); bytes != UINT32_MAX) {
    part(last, bytes);
    if (next == last) return;
    whole -= kGranule;
  }
  for (;;) {
    const Place from(next);
    const Place to(whole);
    const uint64_t end = from.word == to.word ? to.bit : 63;
    word(from.word, bits_between(from.bit, end));
    if (from.word == to.word) return;
    next += kGranule * (64 - from.bit);
  }
}

// What is known of a granule, byte by byte from now on.
SettledCode::Part& SettledCode::part_of(Block& block, uint64_t granule) {
  const Place place(granule);
  const uint64_t number = granule >> kGranuleBits;
  size_t slot = part_slot(number);
  if (block.partial.has(place)) return parts_[slot];
  if (parts_[slot].key == 0 && 2 * (++parts_used_) > parts_.size()) {
    std::vector<Part> old(2 * parts_.size());
    old.swap(parts_);
    for (const Part& each : old) {
      if (each.key != 0) parts_[part_slot(each.key - 1)] = each;
    }
    slot = part_slot(number);
  }
  Part& part = parts_[slot];
  part = Part();
  part.key = number + 1;
  if (block.settled.has(place)) {
    part.settled = UINT32_MAX;
    if (block.jit.has(place)) part.jit = UINT32_MAX;
    if (block.nameless.has(place)) part.nameless = UINT32_MAX;
    block.settled.set(place, false);
  }
  block.partial.set(place, true);
  return part;
}

void SettledCode::settle_word(Block& block, size_t word, uint64_t bits, Kind kind) {
  const auto put = [&](Bits& all, bool value) {
    all.words[word] = (all.words[word] & ~bits) | (value ? bits : 0);
  };
  put(block.partial, false);
  put(block.settled, true);
  put(block.jit, kind == Kind::jit);
  put(block.nameless, kind == Kind::nameless);
}

bool SettledCode::settle(uint64_t address, AddressRange range, Kind kind,
                         const AnswerLimits& limits) {
  if (blocks_.size() > kMostBlocks || parts_used_ >= kMostParts ||
      expiring_.size() >= kMostExpiring || unmapped_.size() >= kMostUnmapped) {
    forget();
  }
  const uint64_t first = address & ~(kBlock - 1);
  const uint64_t low = std::max(range.low, first);
  const uint64_t high = std::min({range.high, first + (kBlock - 1), kLast});
  if (address < low || address > high) return false;
  Block& block = block_of(address);
  for_granules(
      low, high, [&](size_t word, uint64_t bits) { settle_word(block, word, bits, kind); },
      [&](uint64_t granule, uint32_t bytes) {
        Part& part = part_of(block, granule);
        part.settled |= bytes;
        part.jit = (part.jit & ~bytes) | (kind == Kind::jit ? bytes : 0);
        part.nameless = (part.nameless & ~bytes) | (kind == Kind::nameless ? bytes : 0);
      });
  if (limits.growth != 0) unmapped_.push_back({low, high});
  if (limits.until != kForever) {
    expiring_.push({limits.until, low, high});
    expiry_ = std::min(expiry_, limits.until);
  }
  return true;
}

// True when some of it may have been settled. [low, high] lies in the block.
bool SettledCode::open_in(Block& block, uint64_t low, uint64_t high) {
  uint64_t any = 0;
  for_granules(
      low, high,
      [&](size_t word, uint64_t bits) {
        any |= (block.settled.words[word] | block.partial.words[word]) & bits;
        block.settled.words[word] &= ~bits;
        block.partial.words[word] &= ~bits;
      },
      [&](uint64_t granule, uint32_t bytes) {
        const Place place(granule);
        if (!block.settled.has(place) && !block.partial.has(place)) return;
        Part& part = part_of(block, granule);
        any |= part.settled & bytes;
        part.settled &= ~bytes;
      });
  return any != 0;
}

void SettledCode::open(AddressRange range) {
  const uint64_t last = range.high >> kBlockBits;
  uint64_t number = range.low >> kBlockBits;
  constexpr uint64_t most_blocks = 4096;
  if (last - number >= most_blocks) return forget();
  bool any = false;
  for (; number <= last; ++number) {
    const Slot& slot = slots_[slot_of(number)];
    if (slot.number == kFree) continue;
    const uint64_t first = number << kBlockBits;
    const bool here = open_in(blocks_[slot.offset / sizeof(Block)], std::max(range.low, first),
                              std::min(range.high, first + (kBlock - 1)));
    any = any || here;
  }
  if (any) ++opened_;
}

void SettledCode::change(const State& state) {
  const bool grown_only = state.generation == state_.generation && state.view == state_.view;
  state_ = state;
  if (!grown_only) return forget();
  const std::vector<AddressRange> unmapped = std::exchange(unmapped_, {});
  for (const AddressRange& range : unmapped) open(range);
}

void SettledCode::expire(uint64_t time) {
  while (!expiring_.empty() && expiring_.top().until <= time) {
    const Expiring top = expiring_.top();
    expiring_.pop();
    open({top.low, top.high});
  }
  expiry_ = expiring_.empty() ? UINT64_MAX : expiring_.top().until;
}

void SettledCode::forget() {
  ++opened_;
  if (blocks_.size() > 1) {
    std::ranges::fill(slots_, Slot());
    blocks_.resize(1);
  }
  std::ranges::fill(parts_, Part());
  parts_used_ = 0;
  expiring_ = {};
  unmapped_.clear();
  expiry_ = UINT64_MAX;
}

}  // namespace jitscope
