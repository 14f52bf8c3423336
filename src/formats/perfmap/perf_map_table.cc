// See perf_map_table.h.
#include "formats/perfmap/perf_map_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

#include "base/text_hash.h"
#include "base/work_limit.h"

namespace jitscope {
namespace {

constexpr size_t kBlock = 1U << 20U;
// 640 MB of memory. Real ones have some 5 million lines.
constexpr size_t kMostRows = size_t{32} << 20U;

// The source in blocks, with what was left of the last one in front.
class Blocks {
 public:
  explicit Blocks(ByteSource& source)
      : source_(&source), buffer_(kBlock + kLongestPerfMapLine + 2) {}

  // Keeps the last `left` bytes and reads on; the whole text, empty at the end.
  Result<std::string_view> next(size_t left) {
    std::memmove(buffer_.data(), buffer_.data() + end_ - left, left);
    const auto room = std::as_writable_bytes(std::span(buffer_).subspan(left, kBlock));
    JITSCOPE_ASSIGN(const size_t got, source_->read_at(read_, room));
    read_ += got;
    end_ = left + got;
    ended_ = got == 0;
    return std::string_view(buffer_.data(), end_);
  }
  // Starts anew at an offset.
  Result<std::string_view> from(uint64_t offset) {
    read_ = offset;
    end_ = 0;
    return next(0);
  }
  [[nodiscard]] bool ended() const { return ended_; }
  // In the source, of the start of the text.
  [[nodiscard]] uint64_t offset() const { return read_ - end_; }

 private:
  ByteSource* source_;
  std::vector<char> buffer_;
  uint64_t read_ = 0;
  size_t end_ = 0;
  bool ended_ = false;
};

}  // namespace

Error took_too_long(std::string where) {
  return {ErrorKind::not_possible, "perf map not used: reading it took too long", std::move(where),
          "name what it is needed for with a smaller one: --perf-map PID=FILE", 0};
}

uint64_t PerfMapTable::size_of(Position at) const {
  const Row& row = rows_[at];
  if (row.size != kLargeSize) return row.size;
  const auto large =
      std::ranges::lower_bound(large_sizes_, row.number, {}, &std::pair<uint32_t, uint64_t>::first);
  return large->second;
}

std::optional<PerfMapTable::Position> PerfMapTable::at_or_before(uint64_t address) const {
  Position first = 0;
  Position count = size();
  while (count > 0) {  // first position with a larger address
    const Position half = count / 2;
    if (this->address(first + half) <= address) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  if (first == 0) return std::nullopt;
  return first - 1;
}

// A table that grows step by step is copied as often, and its pages are cleared twice. The size of
// a file may be a lie (holes), so what is expected is believed within bounds only.
void PerfMapTable::make_room(size_t bytes_read) {
  constexpr uint64_t most_rows = uint64_t{8} << 20U;
  constexpr size_t few = 1024;
  if (rows_.size() < few || bytes_read == 0) return;
  const uint64_t blocks = source_->size() / bytes_read + 1;
  if (blocks > most_rows) return;
  rows_.reserve(std::min(blocks * rows_.size() * 17 / 16, most_rows));
}

// False when the table is full.
bool PerfMapTable::take(uint64_t offset, const PerfMapFields& fields) {
  if (offset > kMostOffset || lines_ > UINT32_MAX || rows_.size() >= kMostRows) return false;
  const auto number = static_cast<uint32_t>(lines_);
  Row row{};
  row.address_low = static_cast<uint32_t>(fields.address);
  row.address_high = static_cast<uint32_t>(fields.address >> 32U);
  row.offset_low = static_cast<uint32_t>(offset);
  row.offset_high = static_cast<uint32_t>(offset >> 32U) & 0xffU;
  row.size =
      fields.size < kLargeSize ? static_cast<uint32_t>(fields.size) & kLargeSize : kLargeSize;
  row.number = number;
  if (row.size == kLargeSize) large_sizes_.emplace_back(number, fields.size);
  if (fields.address < reach_) may_overlap_ = true;
  if (!rows_.empty() && fields.address < address(size() - 1)) sorted_ = false;
  reach_ = std::max(reach_, fields.address + fields.size);
  rows_.push_back(row);
  return true;
}

Status PerfMapTable::scan(Diagnostics& diagnostics, const PerfMapIndexOptions& options) {
  if (!source_->seekable()) {
    return fail(ErrorKind::usage, "a perf map cannot be read from a pipe", source_->where());
  }
  const auto damaged = [&](PerfMapFault fault, std::string_view line) {
    if (diagnostics.count(to_string(fault)) != 0) {  // the example is of the first one
      diagnostics.note(to_string(fault));
      return;
    }
    diagnostics.note(to_string(fault),
                     fmt::format("{}:{}: {}", source_->where(), lines_, shown_perf_map_line(line)));
  };
  Blocks blocks(*source_);
  size_t left = 0;
  bool skipping = false;  // inside a line that is too long
  for (;;) {
    if (WorkLimit::over()) return fail(took_too_long(source_->where()));
    JITSCOPE_ASSIGN(const std::string_view text, blocks.next(left));
    size_t at = 0;
    while (at < text.size()) {
      const void* end = std::memchr(text.data() + at, '\n', text.size() - at);
      const bool complete = end != nullptr;
      const size_t stop =
          complete ? static_cast<size_t>(static_cast<const char*>(end) - text.data()) : text.size();
      const std::string_view line = text.substr(at, stop - at);
      if (skipping) {
        skipping = !complete;
        at = complete ? stop + 1 : stop;
        continue;
      }
      // The last line of the source may have no end.
      if (!complete && !blocks.ended()) {
        if (line.size() <= kLongestPerfMapLine + 1) break;
        skipping = true;  // and counted below as too long
      }
      const uint64_t offset = blocks.offset() + at;
      at = complete ? stop + 1 : stop;
      ++lines_;
      if (options.comment && line.starts_with('#') && line.size() <= kLongestPerfMapLine) {
        options.comment(line);
        continue;
      }
      PerfMapFields fields;
      const PerfMapFault fault = parse_perf_map_line(line, fields);
      if (fault == PerfMapFault::blank) continue;
      if (fault != PerfMapFault::none) {
        damaged(fault, line);
      } else if (fields.size == 0) {
        if (options.marker) options.marker(fields.address, fields.name);
      } else if (!take(offset, fields)) {
        diagnostics.note("perf map that is too large: the rest is not read", source_->where());
        sort_rows();
        return {};
      }
    }
    if (blocks.ended()) break;
    if (blocks.offset() == 0) make_room(at);
    left = text.size() - at;
  }
  sort_rows();
  return {};
}

void PerfMapTable::sort_rows() {
  if (sorted_) return;
  std::ranges::sort(rows_, {}, [](const Row& row) {
    return std::tuple(row.address_high, row.address_low, row.number);
  });
  // Now that they are in order, overlaps can be told from mere disorder.
  may_overlap_ = false;
  uint64_t reach = 0;
  for (Position at = 0; at < size() && !may_overlap_; ++at) {
    may_overlap_ = address(at) < reach;
    reach = std::max(reach, end(at));
  }
}

bool PerfMapTable::parse_again(Position at, std::string_view text, PerfMapFields& out) const {
  const std::string_view line = text.substr(0, text.find('\n'));
  return parse_perf_map_line(line, out) == PerfMapFault::none && out.address == address(at) &&
         out.size == size_of(at);
}

std::optional<PerfMapIndex::Entry> PerfMapTable::read(Position at) const {
  std::string text;
  for (const size_t want : {size_t{512}, kLongestPerfMapLine + 2}) {
    text.resize(want);
    const auto got = source_->read_at(offset(at), std::as_writable_bytes(std::span(text)));
    if (!got) return std::nullopt;
    text.resize(*got);
    if (text.size() < want || text.find('\n') != std::string::npos) break;
  }
  PerfMapFields fields;
  if (!parse_again(at, text, fields)) return std::nullopt;
  return PerfMapIndex::Entry{fields.address, fields.size, number(at), std::string(fields.name)};
}

Result<std::vector<uint64_t>> PerfMapTable::name_hashes(
    const std::vector<Position>& positions) const {
  std::vector<uint32_t> order(positions.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](uint32_t i) { return number(positions[i]); });
  std::vector<uint64_t> hashes(positions.size());
  Blocks blocks(*source_);
  std::string_view text;
  WorkMeter work;
  for (const uint32_t i : order) {
    if (work.over()) return fail(took_too_long(source_->where()));
    const uint64_t wanted = offset(positions[i]);
    std::string_view line;
    const auto in_text = [&] {
      if (wanted < blocks.offset() || wanted - blocks.offset() >= text.size()) return false;
      line = text.substr(static_cast<size_t>(wanted - blocks.offset()));
      return true;
    };
    // A line that the block cuts off is looked at again at the start of another one.
    if (!in_text() || (line.size() < kLongestPerfMapLine + 2 &&
                       line.find('\n') == std::string_view::npos && !blocks.ended())) {
      JITSCOPE_ASSIGN(text, blocks.from(wanted));
      if (!in_text()) line = {};
    }
    PerfMapFields fields;
    hashes[i] = parse_again(positions[i], line, fields)
                    ? text_hash(fields.name)
                    : text_hash({}, number(positions[i]) + text_hash_key());
  }
  return hashes;
}

}  // namespace jitscope
