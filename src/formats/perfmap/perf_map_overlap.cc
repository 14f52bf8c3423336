// See perf_map_overlap.h.
#include "formats/perfmap/perf_map_overlap.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/work_limit.h"
namespace jitscope {
namespace {

using Position = PerfMapTable::Position;

// The lines at one address during the sweep, by name and by number.
class Holding {
 public:
  void begin(uint64_t name, uint32_t number, Position line) {
    Lines& lines = names_[name];
    if (!lines.empty()) last_.erase(*lines.rbegin());
    lines.emplace(number, line);
    last_.insert(*lines.rbegin());
  }
  void end(uint64_t name, uint32_t number, Position line) {
    const auto found = names_.find(name);
    Lines& lines = found->second;
    last_.erase(*lines.rbegin());
    lines.erase({number, line});
    if (lines.empty()) {
      names_.erase(found);
    } else {
      last_.insert(*lines.rbegin());
    }
  }
  [[nodiscard]] size_t names() const { return names_.size(); }
  // The last line of each name, the latest first.
  [[nodiscard]] const auto& last() const { return last_; }

 private:
  using Line = std::pair<uint32_t, Position>;  // by number
  using Lines = std::set<Line>;
  std::unordered_map<uint64_t, Lines> names_;
  std::set<Line, std::greater<>> last_;
};

}  // namespace

Status PerfMapOverlaps::find(const PerfMapTable& table) {
  clusters_.clear();
  segments_.clear();
  lines_.clear();
  if (!table.may_overlap()) return {};
  struct Run {
    Position first;
    Position last;
    uint64_t high;
  };
  std::vector<Run> runs;
  std::vector<Position> members;
  for (Position first = 0; first < table.size();) {
    uint64_t high = table.end(first);
    Position last = first + 1;
    while (last < table.size() && table.address(last) < high) {
      high = std::max(high, table.end(last));
      ++last;
    }
    if (last - first > 1) {
      runs.push_back({first, last, high});
      for (Position at = first; at < last; ++at) members.push_back(at);
    }
    first = last;
  }
  JITSCOPE_ASSIGN(const std::vector<uint64_t> names, table.name_hashes(members));
  size_t name = 0;
  for (const Run& run : runs) {
    clusters_.push_back({table.address(run.first), run.high, segments_.size()});
    const size_t count = run.last - run.first;
    JITSCOPE_TRY(sweep(table, run.first, run.last, std::span(names).subspan(name, count)));
    name += count;
  }
  segments_.push_back({UINT64_MAX, lines_.size(), 0});
  return {};
}

Status PerfMapOverlaps::sweep(const PerfMapTable& table, Position first, Position last,
                              std::span<const uint64_t> names) {
  std::vector<Position> by_end(last - first);
  std::iota(by_end.begin(), by_end.end(), first);
  std::ranges::sort(by_end, {}, [&](Position at) { return table.end(at); });
  Holding holding;
  Position start = first;
  size_t end = 0;
  WorkMeter work;
  while (end < by_end.size()) {
    if (work.over()) return fail(took_too_long(table.where()));
    const uint64_t next_end = table.end(by_end[end]);
    const uint64_t here = start < last ? std::min(table.address(start), next_end) : next_end;
    for (; end < by_end.size() && table.end(by_end[end]) == here; ++end) {
      holding.end(names[by_end[end] - first], table.number(by_end[end]), by_end[end]);
    }
    for (; start < last && table.address(start) == here; ++start) {
      holding.begin(names[start - first], table.number(start), start);
    }
    if (holding.names() == 0) break;  // the end of the cluster
    segments_.push_back({here, lines_.size(), static_cast<uint32_t>(holding.names())});
    size_t kept = 0;
    for (const auto& [number, line] : holding.last()) {
      lines_.push_back(line);
      if (++kept == PerfMapIndex::kMostCandidates) break;
    }
  }
  return {};
}

std::optional<PerfMapOverlaps::Holders> PerfMapOverlaps::at(uint64_t address) const {
  const auto cluster = std::ranges::upper_bound(clusters_, address, {}, &Cluster::low);
  if (cluster == clusters_.begin() || address >= (cluster - 1)->high) return std::nullopt;
  const auto first = segments_.begin() + static_cast<ptrdiff_t>((cluster - 1)->first_segment);
  const auto last = cluster == clusters_.end()
                        ? segments_.end() - 1
                        : segments_.begin() + static_cast<ptrdiff_t>(cluster->first_segment);
  const auto segment = std::ranges::upper_bound(first, last, address, {}, &Segment::low) - 1;
  const size_t count = (segment + 1)->first_line - segment->first_line;
  const uint64_t end = segment + 1 == last ? (cluster - 1)->high : (segment + 1)->low;
  return Holders{std::span(lines_).subspan(segment->first_line, count), segment->names,
                 segment->low, end - 1};
}

}  // namespace jitscope
