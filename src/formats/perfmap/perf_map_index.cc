// See perf_map_index.h: PerfMapTable knows the lines, PerfMapOverlaps what happens where several
// hold an address.
#include "formats/perfmap/perf_map_index.h"

#include "formats/perfmap/perf_map_overlap.h"
#include "formats/perfmap/perf_map_table.h"

namespace jitscope {

struct PerfMapIndex::State {
  explicit State(std::unique_ptr<ByteSource> source) : table(std::move(source)) {}
  PerfMapTable table;
  PerfMapOverlaps overlaps;
};

PerfMapIndex::PerfMapIndex(std::unique_ptr<State> state) : state_(std::move(state)) {}
PerfMapIndex::~PerfMapIndex() = default;

Result<std::unique_ptr<PerfMapIndex>> PerfMapIndex::read(std::unique_ptr<ByteSource> source,
                                                         Diagnostics& diagnostics,
                                                         const PerfMapIndexOptions& options) {
  auto state = std::make_unique<State>(std::move(source));
  JITSCOPE_TRY(state->table.scan(diagnostics, options));
  JITSCOPE_TRY(state->overlaps.find(state->table));
  return std::unique_ptr<PerfMapIndex>(new PerfMapIndex(std::move(state)));
}

PerfMapIndex::Answer PerfMapIndex::at(uint64_t address) const {
  const PerfMapTable& table = state_->table;
  Answer answer;
  if (const auto holders = state_->overlaps.at(address)) {
    answer.entry = table.read(holders->lines.front());
    answer.changed = !answer.entry;
    answer.ambiguous = holders->names > 1;
    answer.candidate_count = holders->names;
    if (!answer.ambiguous || answer.changed) return answer;
    for (const PerfMapTable::Position line : holders->lines) {
      if (auto entry = table.read(line)) answer.candidates.push_back(std::move(*entry));
    }
    return answer;
  }
  const auto line = table.at_or_before(address);
  if (!line || address - table.address(*line) >= table.size_of(*line)) return answer;
  answer.entry = table.read(*line);
  answer.changed = !answer.entry;
  answer.candidate_count = 1;
  return answer;
}

std::optional<PerfMapIndex::Line> PerfMapIndex::line_at(uint64_t address) const {
  const PerfMapTable& table = state_->table;
  if (const auto holders = state_->overlaps.at(address)) {
    const PerfMapTable::Position line = holders->lines.front();
    return Line{table.address(line), line, holders->names > 1, holders->low, holders->high};
  }
  const auto line = table.at_or_before(address);
  if (!line || address - table.address(*line) >= table.size_of(*line)) return std::nullopt;
  const uint64_t start = table.address(*line);
  return Line{start, *line, false, start, start + (table.size_of(*line) - 1)};
}

std::optional<uint64_t> PerfMapIndex::next_start(uint64_t address) const {
  const PerfMapTable& table = state_->table;
  const auto line = table.at_or_before(address);
  const PerfMapTable::Position next = line ? *line + 1 : 0;
  if (next == table.size()) return std::nullopt;
  return table.address(next);
}

uint64_t PerfMapIndex::lines() const {
  return state_->table.lines();
}

uint64_t PerfMapIndex::entries() const {
  return state_->table.size();
}

}  // namespace jitscope
