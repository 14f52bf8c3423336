// CountedReport: a report whose rows were added up while the recording was read (FrameCounter),
// without stacks: much faster, for tables that need no trees and tell no processes apart.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "profile/frame_counter.h"
#include "render/report_keys.h"
#include "render/report_table.h"

namespace jitscope {

class CountedReport {
 public:
  explicit CountedReport(const ReportOptions& options) : options_(options) {}
  // False when a key is of the thread and not of the frame.
  [[nodiscard]] static bool fits(const ReportOptions& options);

  // For FrameCounter::RowOf.
  uint32_t row_of(FrameId id, const Frame& frame);
  // `description` is a profile without samples (describe()).
  [[nodiscard]] Report build(const Profile& description, const std::vector<Frame>& frames,
                             const FrameCounter& counter) const;

 private:
  ReportOptions options_;
  std::unordered_map<std::string, uint32_t> rows_;
  std::vector<RowFacts> facts_;
};

}  // namespace jitscope
