// Fields of samples, in the order in which the kernel writes them; see sample.h.
#include "formats/perfdata/sample.h"

#include <bit>
#include <cstring>

#include "base/byte_cursor.h"
#include "formats/perfdata/format.h"
#include "formats/perfdata/word.h"

namespace jitscope::perfdata {
namespace {

namespace bit = sample_bit;

// `count` words as a span: in place where they are aligned, else by way of `scratch`. A count that
// the record cannot hold fails the cursor.
std::span<const uint64_t> take_words(ByteCursor& cursor, uint64_t count,
                                     std::vector<uint64_t>& scratch) {
  if (count > cursor.remaining() / kWord) {
    cursor.mark_failed(checked_multiply(count, kWord).value_or(UINT64_MAX));
    return {};
  }
  if (count == 0) return {};
  const std::span<const std::byte> bytes = cursor.bytes(count * kWord);
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) == 0) {
    return {reinterpret_cast<const uint64_t*>(bytes.data()), static_cast<size_t>(count)};
  }
  scratch.resize(static_cast<size_t>(count));
  std::memcpy(scratch.data(), bytes.data(), bytes.size());
  return scratch;
}

void skip_words(ByteCursor& cursor, uint64_t count, uint64_t words_each = 1) {
  const auto words = checked_multiply(count, words_each);
  cursor.skip(words ? checked_multiply(*words, kWord).value_or(UINT64_MAX) : UINT64_MAX);
}

// PERF_SAMPLE_READ: the counter's values, alone or for its group.
void skip_read(const SampleLayout& layout, ByteCursor& cursor) {
  const auto one = [&](uint64_t flag) { return (layout.read_format & flag) != 0 ? 1U : 0U; };
  const uint64_t times = one(read_bit::kEnabled) + one(read_bit::kRunning);
  const uint64_t each = 1 + one(read_bit::kId) + one(read_bit::kLost);
  if (one(read_bit::kGroup) == 0) {
    skip_words(cursor, times + each);
    return;
  }
  const uint64_t members = cursor.u64();
  skip_words(cursor, times);
  skip_words(cursor, members, each);
}

void skip_branches(const SampleLayout& layout, ByteCursor& cursor) {
  const uint64_t count = cursor.u64();
  if ((layout.branch_sample_type & branch_bit::kHardwareIndex) != 0) skip_words(cursor, 1);
  skip_words(cursor, count, 3);
  if ((layout.branch_sample_type & branch_bit::kCounters) != 0) skip_words(cursor, count);
}

// What follows the user's stack: parsed only to know whether the record is whole.
void skip_the_rest(const SampleLayout& layout, ByteCursor& cursor) {
  if (layout.has(bit::kWeight | bit::kWeightStruct)) skip_words(cursor, 1);
  if (layout.has(bit::kDataSource)) skip_words(cursor, 1);
  if (layout.has(bit::kTransaction)) skip_words(cursor, 1);
  if (layout.has(bit::kRegsIntr) && cursor.u64() != 0) {
    skip_words(cursor, static_cast<uint64_t>(std::popcount(layout.intr_regs_mask)));
  }
  if (layout.has(bit::kPhysicalAddress)) skip_words(cursor, 1);
  if (layout.has(bit::kCgroup)) skip_words(cursor, 1);
  if (layout.has(bit::kDataPageSize)) skip_words(cursor, 1);
  if (layout.has(bit::kCodePageSize)) skip_words(cursor, 1);
  if (layout.has(bit::kAux)) cursor.skip(cursor.u64());
}

void parse_user_stack(ByteCursor& cursor, Sample& sample) {
  const uint64_t reserved = cursor.u64();
  if (reserved == 0) return;
  const std::span<const std::byte> stack = cursor.bytes(reserved);
  const uint64_t copied = cursor.u64();
  if (cursor.ok()) sample.user_stack = stack.first(std::min<uint64_t>(copied, stack.size()));
}

}  // namespace

SampleState parse_sample(const SampleLayout& layout, std::span<const std::byte> body,
                         SampleScratch& scratch, Sample& sample) {
  constexpr uint8_t absent = SampleLayout::kAbsent;
  if (body.size() < layout.prefix_words * kWord) return SampleState::unusable;
  if (layout.ip != absent) sample.ip = word_at(body, layout.ip);
  if (layout.tid != absent) {
    const uint64_t ids = word_at(body, layout.tid);
    sample.head.pid = low_half(ids);
    sample.head.tid = high_half(ids);
  }
  if (layout.time != absent) {
    sample.head.time = word_at(body, layout.time);
    sample.head.has_time = true;
  }
  if (layout.address != absent) sample.address = word_at(body, layout.address);
  if (layout.id != absent) sample.head.id = word_at(body, layout.id);
  if (layout.cpu != absent) sample.head.cpu = low_half(word_at(body, layout.cpu));
  if (layout.period != absent) sample.period = word_at(body, layout.period);

  ByteCursor cursor(body.subspan(layout.prefix_words * kWord));
  if (layout.has(bit::kRead)) skip_read(layout, cursor);
  if (layout.has(bit::kCallchain)) {
    const uint64_t count = cursor.u64();
    sample.callchain = take_words(cursor, count, scratch.callchain);
  }
  if (layout.has(bit::kRaw)) sample.raw = cursor.bytes(cursor.u32());
  if (layout.has(bit::kBranchStack)) skip_branches(layout, cursor);
  if (layout.has(bit::kRegsUser)) {
    sample.user_regs_abi = cursor.u64();
    if (sample.user_regs_abi != 0) {
      sample.user_regs_mask = layout.user_regs_mask;
      const auto count = static_cast<uint64_t>(std::popcount(layout.user_regs_mask));
      sample.user_regs = take_words(cursor, count, scratch.user_regs);
      if (!cursor.ok()) sample.user_regs_abi = sample.user_regs_mask = 0;
    }
  }
  if (layout.has(bit::kStackUser)) parse_user_stack(cursor, sample);
  constexpr uint64_t rest = bit::kWeight | bit::kWeightStruct | bit::kDataSource |
                            bit::kTransaction | bit::kRegsIntr | bit::kPhysicalAddress |
                            bit::kCgroup | bit::kDataPageSize | bit::kCodePageSize | bit::kAux;
  if (layout.has(rest)) skip_the_rest(layout, cursor);
  return cursor.ok() ? SampleState::whole : SampleState::cut;
}

}  // namespace jitscope::perfdata
