#include "inject/recording_writer.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "formats/perfdata/format.h"
#include "formats/perfdata/record_builder.h"

namespace jitscope {
namespace {

constexpr uint32_t kReadExecute = 5;  // PROT_READ | PROT_EXEC
constexpr uint32_t kPrivate = 2;      // MAP_PRIVATE
// Features that say where something lies in the input, or how it was packed there.
constexpr uint8_t kAuxTrace = 18;
constexpr uint8_t kDirectory = 24;

}  // namespace

// From the attributes that are known but not written. perf wants them to have one length.
std::vector<perfdata::Attribute> RecordingWriter::attributes(size_t from) const {
  constexpr size_t size_field = 4;
  std::vector<perfdata::Attribute> result;
  const auto& events = session_.header().events;
  for (size_t i = from; i < events.size(); ++i) {
    perfdata::Attribute attribute;
    attribute.attr = events[i].raw;
    attribute.attr.resize(attr_bytes_);
    const auto size = static_cast<uint32_t>(attr_bytes_);
    std::memcpy(attribute.attr.data() + size_field, &size, sizeof(size));
    attribute.ids = events[i].ids;
    result.push_back(std::move(attribute));
  }
  return result;
}

Status RecordingWriter::begin() {
  const auto& events = session_.header().events;
  if (events.empty()) {
    return fail(ErrorKind::damaged, "the recording has records but no event attributes");
  }
  for (const perfdata::EventInfo& event : events) {
    attr_bytes_ = std::max(attr_bytes_, (event.raw.size() + 7) / 8 * 8);
  }
  JITSCOPE_TRY(writer_.begin(attributes(0)));
  attributes_ = events.size();
  begun_ = true;
  return writer_.records(std::exchange(held_, {}));
}

void RecordingWriter::hold(std::span<const std::byte> bytes) {
  held_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status RecordingWriter::write(std::span<const std::byte> bytes, const perfdata::RecordHead& head) {
  if (round_.full(bytes.size())) JITSCOPE_TRY(end_round());
  round_.add(bytes, head.has_time ? head.time : 0);
  return {};
}

Status RecordingWriter::end_round() {
  const InjectRound::Start start = round_.start(writer_);
  for (; patches_written_ < patches_.size(); ++patches_written_) {
    MappingPatch& patch = patches_[patches_written_];
    patch.offset += patch.front ? start.mappings : start.records;
  }
  return round_.write(writer_);
}

// perf holds records back until the round after theirs has ended; what has no time it takes at
// once.
Status RecordingWriter::keep_order(const perfdata::RecordHead& head) {
  const uint64_t time = head.has_time ? head.time : 0;
  if (time < newest_ && session_.header().events.front().sample_id_all) {
    JITSCOPE_TRY(end_round());
    JITSCOPE_TRY(writer_.finished_round());
    newest_ = 0;
  }
  newest_ = std::max(newest_, time);
  return {};
}

Status RecordingWriter::add_mapping(const perfdata::Sample& sample, perfdata::Mmap mmap,
                                    const MappingPatch* patch) {
  const auto& events = session_.header().events;
  const perfdata::EventInfo& event = events[std::min<size_t>(sample.event, events.size() - 1)];
  // The maps that perf will look into are those of the sample's thread.
  mmap.pid = sample.head.pid;
  mmap.tid = sample.head.tid;
  perfdata::RecordHead head = sample.head;
  head.misc = perfdata::kMiscUser;
  out_.clear();
  const perfdata::RecordBuilder builder(event.sample_type, event.sample_id_all);
  builder.mmap2(out_, head, mmap, kReadExecute, kPrivate);
  ++mappings_;
  if (round_.full(out_.size())) JITSCOPE_TRY(end_round());
  const bool timed = event.sample_id_all && sample.head.has_time;
  const InjectRound::Place place =
      round_.add_mapping(std::as_bytes(std::span(out_)), timed ? sample.head.time : 0);
  if (patch == nullptr) return {};
  patches_.push_back(*patch);
  patches_.back().offset = place.offset;
  patches_.back().front = place.front;
  return {};
}

Status RecordingWriter::end_records() {
  JITSCOPE_TRY(end_round());
  const auto& events = session_.header().events;
  if (attributes_ == events.size()) return {};
  for (const perfdata::EventInfo& event : events) {
    if (event.raw.size() <= attr_bytes_) continue;
    return fail(ErrorKind::not_possible,
                "an event attribute that came late is longer than those before");
  }
  return writer_.add_attributes(attributes(attributes_));
}

// Those that lie near each other in the output are filled in together.
Status RecordingWriter::fill_in(const Fill& fill) {
  constexpr size_t size = perfdata::kMmapOffset + sizeof(uint64_t);
  constexpr uint64_t near = 1024;
  constexpr uint64_t most = 256U << 10U;
  std::ranges::sort(patches_, {}, &MappingPatch::offset);
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < patches_.size();) {
    const uint64_t first = patches_[i].offset;
    size_t end = i + 1;
    for (; end < patches_.size(); ++end) {
      const uint64_t next = patches_[end].offset;
      if (next - patches_[end - 1].offset > near || next - first > most) break;
    }
    bytes.resize(patches_[end - 1].offset + size - first);
    JITSCOPE_TRY(output_.read(first, bytes));
    for (; i < end; ++i) {
      fill(patches_[i], std::span(bytes).subspan(patches_[i].offset - first, size));
    }
    JITSCOPE_TRY(output_.overwrite(first, bytes));
  }
  return {};
}

void RecordingWriter::set_features(const std::string& more_build_ids) {
  using perfdata::Feature;
  constexpr auto compressed = static_cast<uint8_t>(Feature::compressed);
  constexpr auto build_id = static_cast<uint8_t>(Feature::build_id);
  std::string ids;
  for (const auto& [bit, bytes] : session_.header().raw_features) {
    if (bit == compressed || bit == kAuxTrace || bit == kDirectory) continue;
    std::string payload(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (bit == build_id) {
      ids = std::move(payload);
    } else {
      writer_.set_feature(bit, std::move(payload));
    }
  }
  ids += more_build_ids;
  if (!ids.empty()) writer_.set_feature(Feature::build_id, std::move(ids));
}

}  // namespace jitscope
