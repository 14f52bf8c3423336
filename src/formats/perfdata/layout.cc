// Positions of fields; see layout.h.
#include "formats/perfdata/layout.h"

#include "formats/perfdata/format.h"

namespace jitscope::perfdata {

SampleLayout make_layout(const EventInfo& event) {
  namespace bit = sample_bit;
  SampleLayout layout;
  layout.sample_type = event.sample_type;
  layout.read_format = event.read_format;
  layout.branch_sample_type = event.branch_sample_type;
  layout.user_regs_mask = event.user_regs_mask;
  layout.intr_regs_mask = event.intr_regs_mask;

  uint8_t next = 0;
  const auto place = [&](uint64_t field) {
    return layout.has(field) ? next++ : SampleLayout::kAbsent;
  };
  const uint8_t identifier = place(bit::kIdentifier);
  layout.ip = place(bit::kIp);
  layout.tid = place(bit::kTid);
  layout.time = place(bit::kTime);
  layout.address = place(bit::kAddress);
  const uint8_t id = place(bit::kId);
  place(bit::kStreamId);
  layout.cpu = place(bit::kCpu);
  layout.period = place(bit::kPeriod);
  layout.id = identifier != SampleLayout::kAbsent ? identifier : id;
  layout.prefix_words = next;

  if (event.sample_id_all) {
    next = 0;
    layout.trailer_tid = place(bit::kTid);
    layout.trailer_time = place(bit::kTime);
    const uint8_t trailer_id = place(bit::kId);
    place(bit::kStreamId);
    layout.trailer_cpu = place(bit::kCpu);
    const uint8_t trailer_identifier = place(bit::kIdentifier);
    layout.trailer_id =
        trailer_identifier != SampleLayout::kAbsent ? trailer_identifier : trailer_id;
    layout.trailer_words = next;
  }
  return layout;
}

}  // namespace jitscope::perfdata
