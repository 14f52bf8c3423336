// Where the fields of samples and of sample_id trailers lie, worked out once for each event.
#pragma once

#include <cstdint>

#include "formats/perfdata/reader.h"

namespace jitscope::perfdata {

// Positions count 64-bit words; kAbsent where the event does not record the field.
struct SampleLayout {
  static constexpr uint8_t kAbsent = 0xff;

  uint64_t sample_type = 0;
  uint64_t read_format = 0;
  uint64_t branch_sample_type = 0;
  uint64_t user_regs_mask = 0;
  uint64_t intr_regs_mask = 0;

  // In a sample, from the start of the body. All of them precede the first field of variable size.
  uint8_t ip = kAbsent;
  uint8_t tid = kAbsent;  // u32 pid, u32 tid
  uint8_t time = kAbsent;
  uint8_t address = kAbsent;
  uint8_t id = kAbsent;  // IDENTIFIER, else ID
  uint8_t cpu = kAbsent;
  uint8_t period = kAbsent;
  uint8_t prefix_words = 0;

  // In the trailer of any other record, from the trailer's start.
  uint8_t trailer_tid = kAbsent;
  uint8_t trailer_time = kAbsent;
  uint8_t trailer_id = kAbsent;
  uint8_t trailer_cpu = kAbsent;
  uint8_t trailer_words = 0;  // 0 without sample_id_all

  [[nodiscard]] bool has(uint64_t bit) const { return (sample_type & bit) != 0; }
};

[[nodiscard]] SampleLayout make_layout(const EventInfo& event);

}  // namespace jitscope::perfdata
