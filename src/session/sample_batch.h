// SampleBatch: samples on their way from the thread that resolves them to the one that takes them
// in (Session, Pipeline): where they lie, and what became of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "formats/perfdata/batch.h"
#include "replay/processes.h"
#include "session/resolved_sample.h"

namespace jitscope {

class SampleBatch : public perfdata::RecordBatch {
 public:
  // Before it is filled again.
  void clear() {
    resolved_.clear();
    locations_.clear();
    threads_.clear();
    ++lap_;
  }
  // All records in their order. False: the handler wants no more.
  bool hand_out(perfdata::Decoder& decoder, perfdata::Handler& handler);
  // The sample that hand_out() gives the handler now, with its stack, which is copied.
  void add(ThreadState& thread, std::span<const LocationId> stack, size_t shared, bool callchain);
  // All samples that were added. False: the consumer wants no more.
  bool hand_out(perfdata::Decoder& decoder, SampleConsumer& consumer) const;

 private:
  struct Resolved {
    uint32_t entry = 0;
    uint32_t count = 0;  // of its locations, which follow those of the sample before
    uint32_t shared = 0;
    bool callchain = false;
    SampledThread* thread = nullptr;
  };
  std::vector<Resolved> resolved_;
  std::vector<LocationId> locations_;
  std::vector<std::shared_ptr<SampledThread>> threads_;
  uint32_t entry_ = 0;  // that hand_out() is at
  uint64_t lap_ = 0;
};

}  // namespace jitscope
