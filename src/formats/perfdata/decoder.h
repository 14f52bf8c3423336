// Decoder: a record as it lies in a chunk -> the struct that handlers get.
//
// It changes nothing but its own notes, so several threads may each have one for the same events.
#pragma once

#include <cstdint>

#include "base/diagnostics.h"
#include "formats/perfdata/event_table.h"
#include "formats/perfdata/lane.h"
#include "formats/perfdata/reader.h"
#include "formats/perfdata/sample.h"

namespace jitscope::perfdata {

class Decoder {
 public:
  // What is damaged is noted in `diagnostics`.
  Decoder(const EventTable& events, Diagnostics& diagnostics)
      : events_(&events), diagnostics_(&diagnostics) {}

  // `offset`: RecordHead::offset. False: the handler wants no more.
  bool hand_out(const RawRecord& raw, uint64_t offset, Handler& handler);
  // A sample, whose views hold until the next one. False: it cannot be read.
  bool sample(const RawRecord& raw, uint64_t offset, Sample& sample);
  // Of a record of one of the kernel's types but samples: its layout, see EventTable.
  [[nodiscard]] const SampleLayout* trailer_layout(std::span<const std::byte> body) {
    return events_->trailer_layout(body, ids_);
  }
  [[nodiscard]] uint32_t event_of_sample(std::span<const std::byte> body) {
    return events_->event_of_sample(body, ids_);
  }

 private:
  const EventTable* events_;
  Diagnostics* diagnostics_;
  RecentIds ids_;
  SampleScratch scratch_;
};

}  // namespace jitscope::perfdata
