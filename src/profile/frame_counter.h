// FrameCounter: adds samples up by what their frames have in common (a method, a library), without
// keeping stacks: what a table needs, and far less than a Profile.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "profile/profile.h"
#include "profile/session.h"

namespace jitscope {

struct FrameCount {
  uint64_t self_samples = 0;
  uint64_t self_weight = 0;
  uint64_t total_samples = 0;  // once a sample, however often the frame recurs in it
  uint64_t total_weight = 0;
};

class FrameCounter : public SampleConsumer {
 public:
  // `row_of` numbers what belongs together, from 0 on; asked once for each frame.
  using RowOf = std::function<uint32_t(FrameId, const Frame&)>;
  // Samples of other events than `event` are only counted by the session.
  FrameCounter(const Session& session, uint32_t event, RowOf row_of)
      : session_(session), event_(event), row_of_(std::move(row_of)) {}

  bool on_sample(const ResolvedSample& sample) override;
  [[nodiscard]] bool wants_addresses() const override { return false; }

  [[nodiscard]] const std::vector<FrameCount>& rows() const { return rows_; }
  // Samples and weight of the event.
  [[nodiscard]] uint64_t samples() const { return samples_; }
  [[nodiscard]] uint64_t weight() const { return weight_; }

 private:
  [[nodiscard]] uint32_t row(FrameId frame);
  uint32_t row_of_location(LocationId id);
  void count(uint32_t row, uint64_t weight);

  const Session& session_;
  uint32_t event_;
  RowOf row_of_;
  std::vector<uint32_t> row_of_frame_;
  std::vector<uint32_t> row_of_location_;  // kUnknown or kInlined or the row
  std::vector<FrameCount> rows_;
  std::vector<uint64_t> seen_;  // of each row: the number of the last sample that had it
  uint64_t samples_ = 0;
  uint64_t weight_ = 0;
};

}  // namespace jitscope
