// PerfMapTable: where each line of a perf map lies and which addresses it holds, in 20 bytes a
// line, and the lines themselves read again from the source. Inside src/formats/perfmap only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/diagnostics.h"
#include "base/large_pages.h"
#include "formats/perfmap/perf_map_index.h"
#include "formats/perfmap/perf_map_line.h"

namespace jitscope {

// A map whose end was not reached would give the names of lines that later ones replace.
[[nodiscard]] Error took_too_long(std::string where);

class PerfMapTable {
 public:
  [[nodiscard]] std::string where() const { return source_->where(); }
  // Positions in the order of addresses, lines of equal address in the order of the file.
  using Position = uint32_t;

  explicit PerfMapTable(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  Status scan(Diagnostics& diagnostics, const PerfMapIndexOptions& options);

  [[nodiscard]] Position size() const { return static_cast<Position>(rows_.size()); }
  [[nodiscard]] uint64_t lines() const { return lines_; }
  [[nodiscard]] uint64_t address(Position at) const {
    return uint64_t{rows_[at].address_high} << 32U | rows_[at].address_low;
  }
  [[nodiscard]] uint64_t size_of(Position at) const;
  [[nodiscard]] uint64_t end(Position at) const { return address(at) + size_of(at); }
  [[nodiscard]] uint32_t number(Position at) const { return rows_[at].number; }
  [[nodiscard]] uint64_t offset(Position at) const {
    return uint64_t{rows_[at].offset_high} << 32U | rows_[at].offset_low;
  }
  // The last position whose address is at or before this one.
  [[nodiscard]] std::optional<Position> at_or_before(uint64_t address) const;
  // Whether a line may overlap one before it.
  [[nodiscard]] bool may_overlap() const { return may_overlap_; }

  // The line read again; nothing when it is not what it was.
  [[nodiscard]] std::optional<PerfMapIndex::Entry> read(Position at) const;
  // A hash of the names of these lines; lines that have changed differ from all others.
  [[nodiscard]] Result<std::vector<uint64_t>> name_hashes(
      const std::vector<Position>& positions) const;

 private:
  struct Row {
    uint32_t address_low;
    uint32_t address_high;
    uint32_t offset_low;
    uint32_t offset_high : 8;
    uint32_t size : 24;  // kLargeSize: in large_sizes_
    uint32_t number;
  };
  static_assert(sizeof(Row) == 20);
  static constexpr uint32_t kLargeSize = (1U << 24U) - 1;
  static constexpr uint64_t kMostOffset = (uint64_t{1} << 40U) - 1;

  // Room for the rows of the whole source, as these first lines let expect.
  void make_room(size_t bytes_read);
  bool take(uint64_t offset, const PerfMapFields& fields);
  void sort_rows();
  // Whether this is the text of the line (and maybe more behind it).
  [[nodiscard]] bool parse_again(Position at, std::string_view text, PerfMapFields& out) const;

  std::unique_ptr<ByteSource> source_;
  LargeVector<Row> rows_;
  std::vector<std::pair<uint32_t, uint64_t>> large_sizes_;  // by the line's number
  uint64_t lines_ = 0;
  uint64_t reach_ = 0;  // the largest end so far
  bool sorted_ = true;
  bool may_overlap_ = false;
};

}  // namespace jitscope
