// Decodes compressed line number tables; see line_numbers.h.
#include "runtimes/hotspot/line_numbers.h"

#include <algorithm>

namespace jitscope::hotspot {
namespace {

constexpr uint8_t kEnd = 0;
constexpr uint8_t kEscape = 0xff;
constexpr size_t kMaxEntries = 1U << 18U;  // class files have at most 65,535 a table, seldom two
constexpr int64_t kLargest = UINT16_MAX;   // JVMS 4.7.12: start_pc and line_number are u2

}  // namespace

std::optional<LineNumbers> LineNumbers::decode(std::span<const std::byte> table, Unsigned5 form) {
  LineNumbers result;
  ByteCursor bytes(table);
  int64_t bci = 0;
  int64_t line = 0;
  while (result.entries_.size() < kMaxEntries) {
    const uint8_t next = bytes.u8();
    if (!bytes.ok()) return std::nullopt;
    if (next == kEnd) {
      std::ranges::stable_sort(result.entries_, {}, &Entry::bci);
      return result;
    }
    if (next == kEscape) {
      bci += read_signed5(bytes, form);
      line += read_signed5(bytes, form);
    } else {
      bci += next >> 3U;
      line += next & 7U;
    }
    if (!bytes.ok() || bci < 0 || bci > kLargest || line < 0 || line > kLargest) {
      return std::nullopt;
    }
    result.entries_.push_back({static_cast<uint16_t>(bci), static_cast<uint16_t>(line)});
  }
  return std::nullopt;
}

uint32_t LineNumbers::line_of(int32_t bci) const {
  if (bci < 0 || bci > kLargest) return 0;
  const auto at = static_cast<uint16_t>(bci);
  const auto found = std::ranges::lower_bound(entries_, at, {}, &Entry::bci);
  // Of several at this very index the first, of several before it the last: as the JVM looks.
  if (found != entries_.end() && found->bci == at) return found->line;
  return found == entries_.begin() ? 0 : std::prev(found)->line;
}

}  // namespace jitscope::hotspot
