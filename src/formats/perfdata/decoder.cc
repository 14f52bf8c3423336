#include "formats/perfdata/decoder.h"

#include <fmt/format.h>

#include "formats/perfdata/decode.h"
#include "formats/perfdata/format.h"

namespace jitscope::perfdata {
namespace {

RecordHead head_of(const RawRecord& raw, uint64_t offset) {
  RecordHead head;
  head.type = raw.type;
  head.misc = raw.misc;
  head.offset = offset;
  head.bytes = {raw.body.data() - kRecordHeadSize, kRecordHeadSize + raw.body.size()};
  return head;
}

}  // namespace

bool Decoder::hand_out(const RawRecord& raw, uint64_t offset, Handler& handler) {
  if (raw.type == RecordType::sample) {
    Sample sample;
    return !this->sample(raw, offset, sample) || handler.on_sample(sample);
  }
  Record record;
  record.head = head_of(raw, offset);
  std::span<const std::byte> body = raw.body;
  if (static_cast<uint32_t>(raw.type) < kFirstUserType) {
    body = split_trailer(trailer_layout(body), body, record.head);
  }
  if (!decode_body(body, record)) {
    diagnostics_->note(
        "record too short for its type",
        fmt::format("type {} at {:#x}", static_cast<uint32_t>(raw.type), record.head.offset));
    return true;
  }
  return handler.on_record(record);
}

bool Decoder::sample(const RawRecord& raw, uint64_t offset, Sample& sample) {
  sample.head = head_of(raw, offset);
  sample.mode = cpu_mode(raw.misc);
  sample.event = event_of_sample(raw.body);
  if (sample.event == EventTable::kUnknown) {
    diagnostics_->note("sample of an unknown event", fmt::format("at {:#x}", sample.head.offset));
    // Where all events record the same it can be read all the same, as the first one's.
    if (events_->size() == 0 || !events_->uniform()) return false;
    sample.event = 0;
  }
  const SampleState state = parse_sample(events_->layout(sample.event), raw.body, scratch_, sample);
  if (state != SampleState::whole) {
    diagnostics_->note("sample that does not fit its size",
                       fmt::format("at {:#x}", sample.head.offset));
  }
  return state != SampleState::unusable;
}

}  // namespace jitscope::perfdata
