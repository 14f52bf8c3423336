// LeafFilter: passes on the samples that hit code of some libraries (perf script --dsos).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "session/dso_names.h"
#include "session/session.h"

namespace jitscope {

class LeafFilter : public SampleConsumer {
 public:
  LeafFilter(const Session& session, const DsoNames& names, SampleConsumer& consumer)
      : session_(session), names_(names), consumer_(consumer) {}

  bool on_sample(const ResolvedSample& sample) override;
  [[nodiscard]] uint64_t left_out() const { return left_out_; }

 private:
  bool takes(LocationId leaf);

  const Session& session_;
  const DsoNames& names_;
  SampleConsumer& consumer_;
  std::vector<uint8_t> taken_;  // by location: kUnknown, kNo or kYes
  // By thread (pid << 32 | tid) of which samples were left out since the last that was passed on:
  // how many locations all of these had in common with it.
  std::unordered_map<uint64_t, size_t> shared_;
  uint64_t left_out_ = 0;
};

}  // namespace jitscope
