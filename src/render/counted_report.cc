#include "render/counted_report.h"

namespace jitscope {

bool CountedReport::fits(const ReportOptions& options) {
  return !tells_threads_apart(options);
}

uint32_t CountedReport::row_of(FrameId id, const Frame& frame) {
  const auto row = rows_.try_emplace(row_key(frame, options_), static_cast<uint32_t>(rows_.size()))
                       .first->second;
  if (row == facts_.size()) facts_.emplace_back();
  facts_[row].add(id, frame);
  return row;
}

Report CountedReport::build(const Profile& description, const std::vector<Frame>& frames,
                            const FrameCounter& counter) const {
  Report report;
  describe_report(report, description, options_);
  report.sum = {counter.samples(), counter.weight()};
  const std::vector<FrameCount> counts = counter.rows();
  std::vector<ReportRow> rows(counts.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const FrameCount& count = counts[i];
    facts_[i].describe(rows[i], frames);
    rows[i].self = {count.self_samples, count.self_weight};
    rows[i].total = {count.total_samples, count.total_weight};
  }
  for (const uint32_t row : report_order(rows, options_)) report.rows.push_back(rows[row]);
  return report;
}

}  // namespace jitscope
