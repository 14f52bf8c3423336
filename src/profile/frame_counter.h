// FrameCounter: adds samples up by what their frames have in common (a method, a library), without
// keeping stacks: what a table needs, and far less than a Profile.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "profile/profile.h"
#include "session/session.h"

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

  [[nodiscard]] std::vector<FrameCount> rows() const;
  // Samples and weight of the event.
  [[nodiscard]] uint64_t samples() const { return samples_; }
  [[nodiscard]] uint64_t weight() const { return weight_; }

 private:
  [[nodiscard]] uint32_t row(FrameId frame);
  uint32_t row_of_location(LocationId id);
  void count(uint32_t row);
  uint32_t count_inlined(LocationId location);
  void settle();

  const Session& session_;
  uint32_t event_;
  RowOf row_of_;
  std::vector<uint32_t> row_of_frame_;
  std::vector<uint32_t> row_of_location_;  // kUnknown or kInlined or the row
  // Most samples weigh the same: as they come only their number is counted, in a table that is
  // small enough to stay near the processor.
  struct Quick {
    uint32_t seen = 0;  // the stamp of the last sample that had the row
    uint32_t count = 0;
    uint32_t leaf = 0;  // of them, with the row as the leaf's
  };
  std::vector<Quick> quick_;
  std::vector<FrameCount> rows_;  // without what is in quick_
  uint64_t each_ = 0;             // what a sample counted in quick_ weighs, as the first did
  uint64_t unusual_ = 0;          // what the present one weighs more (or less, modulo 2^64)
  uint32_t stamp_ = 0;
  uint64_t samples_ = 0;
  uint64_t weight_ = 0;
};

}  // namespace jitscope
