// Reading, ordering, handing out; see walk.h.
#include "formats/perfdata/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/byte_cursor.h"
#include "formats/perfdata/decode.h"
#include "formats/perfdata/format.h"
#include "formats/perfdata/word.h"

namespace jitscope::perfdata {
namespace {

constexpr uint64_t kSmallestChunk = 256U << 10U;
constexpr uint64_t kLargestChunk = 1U << 20U;
// What is read at once: small enough to be in the cache still when it is walked.
constexpr size_t kPiece = 256U << 10U;
// Chunks that are held in any case: those of both lanes and those behind them.
constexpr uint64_t kSpareChunks = 4;

// A name, a unit and a scale for each of a thousand events.
constexpr size_t kMostHeaderChanges = 4096;

constexpr size_t kRoomToUnpack = 64U << 10U;
// perf calls a record of this time untimed.
constexpr uint64_t kNoTime = UINT64_MAX;

}  // namespace

Walk::Walk(const ReadOptions& options, Header& header, EventTable& events, Gatherer& gatherer,
           Diagnostics& diagnostics)
    : header_(&header),
      events_(&events),
      gatherer_(&gatherer),
      diagnostics_(&diagnostics),
      decoder_(events, diagnostics),
      in_order_(options.in_order),
      keep_raw_(options.keep_raw),
      max_waiting_(options.max_waiting_bytes),
      pool_(std::clamp(options.max_waiting_bytes / 16, kSmallestChunk, kLargestChunk)),
      outer_(pool_),
      inner_(pool_) {}

Status Walk::run(Input& input, uint64_t end, Handler& handler) {
  handler_ = &handler;
  return run(input, end);
}

Status Walk::run(Input& input, uint64_t end) {
  JITSCOPE_TRY(read_chunks(input, end));
  while (!stopped_ && !queue_.empty()) hand_out_first();
  return {};
}

Status Walk::run(Input& input, uint64_t end, BatchSink& sink) {
  Batcher batcher(sink, pool_);
  batcher_ = &batcher;
  Status status = run(input, end);
  batcher.flush();
  batcher_ = nullptr;
  return status;
}

Status Walk::read_chunks(Input& input, uint64_t end) {
  while (!stopped_) {
    if (input.seekable()) {
      const uint64_t left = end - std::min(end, input.position());
      input.jump(input.position() + std::min(left, outer_.take_skip()));
    }
    const uint64_t left = end - std::min(end, input.position());
    std::span<std::byte> room = outer_.room();
    room = room.first(
        std::min({room.size(), static_cast<size_t>(std::min<uint64_t>(left, kPiece)), kPiece}));
    const uint64_t offset = input.position();
    size_t got = 0;
    if (!room.empty()) {
      JITSCOPE_ASSIGN(got, input.next(room));
    }
    if (got == 0) {
      const bool early = end != UINT64_MAX && left != 0;
      if (early || outer_.unread() != 0) {
        diagnostics_->note("perf.data cut short", fmt::format("it ends at {:#x}", offset));
      }
      return {};
    }
    outer_.filled(got, offset, false);
    JITSCOPE_ASSIGN(const bool whole, drain(outer_));
    if (!whole) return {};
  }
  return {};
}

Result<bool> Walk::drain(Lane& lane) {
  RawRecord raw;
  while (!stopped_) {
    switch (lane.next(raw)) {
      case Lane::Next::more:
        return true;
      case Lane::Next::damaged:
        diagnostics_->note("record smaller than its own head: the rest cannot be read");
        return false;
      case Lane::Next::record:
        JITSCOPE_TRY(take(raw, lane));
    }
  }
  return true;
}

Status Walk::take(const RawRecord& raw, Lane& lane) {
  if (static_cast<uint32_t>(raw.type) >= kFirstUserType) return take_user_record(raw, lane);
  if (in_order_) {
    enqueue(raw);
  } else {
    hand_out(raw);
  }
  return {};
}

Status Walk::take_user_record(const RawRecord& raw, Lane& lane) {
  ByteCursor cursor(raw.body);
  switch (raw.type) {
    case RecordType::compressed:
    case RecordType::compressed2:
      if (&lane == &inner_) {
        diagnostics_->note("compressed record inside a compressed one");
        return {};
      }
      return unpack(raw);
    case RecordType::header_attr:
      // In a file it only repeats what the header said.
      if (header_->pipe) JITSCOPE_TRY(gatherer_->add_event_record(raw.body));
      break;
    case RecordType::header_feature: {
      const uint64_t feature = cursor.u64();
      if (cursor.ok() && may_change_header()) gatherer_->add_feature(feature, cursor.rest());
      break;
    }
    case RecordType::event_update:
      if (may_change_header()) gatherer_->update_event(raw.body);
      break;
    case RecordType::time_conv:
      if (auto conversion = decode_time_conversion(raw.body); conversion && may_change_header()) {
        header_->time_conversion = conversion;
      }
      break;
    case RecordType::build_id: {
      BuildId build_id;
      if (decode_build_id(raw.misc, raw.body, build_id)) gatherer_->add_build_id(build_id);
      break;
    }
    case RecordType::auxtrace:
      lane.skip(cursor.u64());
      break;
    case RecordType::tracing_data: {
      const uint64_t size = (cursor.u32() + kWord - 1) / kWord * kWord;
      if (header_->pipe && size <= Input::kLargestSection) {
        constexpr auto bit = static_cast<uint8_t>(Feature::tracing_data);
        std::vector<std::byte>& sink =
            keep_raw_ ? header_->raw_features[bit] : header_->tracing_data;
        sink.clear();
        lane.collect(size, sink);
      } else {
        lane.skip(size);
      }
      break;
    }
    case RecordType::finished_round:
      end_round();
      break;
    default:
      break;
  }
  hand_out(raw);
  return {};
}

bool Walk::may_change_header() {
  // Each makes readers in other threads wait for each other.
  if (header_changes_ == kMostHeaderChanges) {
    diagnostics_->note("more updates of events and features than any recording has: not taken");
    return false;
  }
  ++header_changes_;
  if (batcher_ != nullptr && !batcher_->settle()) stopped_ = true;
  return !stopped_;
}

Status Walk::unpack(const RawRecord& raw) {
  constexpr uint32_t zstd = 1;
  if (const uint32_t kind = gatherer_->compression().value_or(zstd); kind != zstd) {
    return fail(ErrorKind::not_possible,
                fmt::format("is compressed in a way that is not known ({})", kind), {},
                "only zstd is: record without -z, or with a perf that uses zstd");
  }
  ByteCursor cursor(raw.body);
  std::span<const std::byte> data = raw.body;
  if (raw.type == RecordType::compressed2) {
    const uint64_t size = cursor.u64();
    data = cursor.bytes(size);
    if (!cursor.ok()) inflater_.give_up();
  }
  const bool broken_before = inflater_.broken();
  if (!broken_before) inflater_.feed(data);
  while (!stopped_ && !inflater_.broken()) {
    const size_t got = inflater_.unpack(inner_.room().first(kRoomToUnpack));
    if (got == 0) break;
    inner_.filled(got, raw.chunk->offset_of(raw.position), true);
    JITSCOPE_ASSIGN(const bool whole, drain(inner_));
    if (!whole) inflater_.give_up();
  }
  if (inflater_.broken()) {
    diagnostics_->note(inflater_.excessive()
                           ? "compressed record that unpacks to more than is sensible: the rest "
                             "of them is not read"
                           : "compressed record that cannot be read",
                       fmt::format("at {:#x}", raw.chunk->offset_of(raw.position)));
  }
  return {};
}

std::optional<uint64_t> Walk::time_of(const RawRecord& raw) {
  if (raw.type == RecordType::sample) {
    const uint32_t event = decoder_.event_of_sample(raw.body);
    if (event == EventTable::kUnknown && !events_->uniform()) return std::nullopt;
    if (events_->size() == 0) return std::nullopt;
    const SampleLayout& layout = events_->layout(event == EventTable::kUnknown ? 0 : event);
    if (layout.time == SampleLayout::kAbsent) return std::nullopt;
    if (raw.body.size() < (layout.time + size_t{1}) * kWord) return std::nullopt;
    return word_at(raw.body, layout.time);
  }
  Record record;
  record.head.type = raw.type;
  const std::span<const std::byte> body =
      split_trailer(decoder_.trailer_layout(raw.body), raw.body, record.head);
  if (!record.head.has_time && (raw.type == RecordType::fork || raw.type == RecordType::exit)) {
    decode_body(body, record);
  }
  if (!record.head.has_time) return std::nullopt;
  return record.head.time;
}

void Walk::enqueue(const RawRecord& raw) {
  const std::optional<uint64_t> time = time_of(raw);
  uint64_t key = 0;
  if (time && *time != kNoTime) {
    key = *time;
    // perf made it up: it tells how things stood before the first event.
    if (key == 0) return hand_out(raw);
    latest_ = std::max(latest_, key);
    if (key < handed_out_) {
      diagnostics_->note("record out of order",
                         fmt::format("at {:#x}", raw.chunk->offset_of(raw.position)));
      place_ = key;
      return hand_out(raw);
    }
    place_ = key;
  } else {
    // No time: it stays behind the record it follows.
    key = place_;
    if (queue_.empty() || key < handed_out_) return hand_out(raw);
  }
  ChunkPool::use(raw.chunk);
  queue_.push({key, sequence_++, raw.chunk, raw.position,
               static_cast<uint32_t>(raw.body.size() + kRecordHeadSize)});
  keep_within_limits();
}

void Walk::end_round() {
  while (!stopped_ && !queue_.empty() && queue_.first_time() <= round_limit_) hand_out_first();
  round_limit_ = latest_;
}

void Walk::keep_within_limits() {
  const uint64_t spare = kSpareChunks * pool_.chunk_size();
  if (queue_.bytes() <= max_waiting_ && pool_.bytes_in_use() <= max_waiting_ + spare) return;
  diagnostics_->note("records left early: too many waited for the end of their round");
  while (!stopped_ && !queue_.empty() &&
         (queue_.bytes() > max_waiting_ / 2 || pool_.bytes_in_use() > max_waiting_ / 2 + spare)) {
    hand_out_first();
  }
}

void Walk::hand_out_first() {
  // A stack is read where a batch goes.
  constexpr uint32_t head = 128;
  constexpr uint32_t all = 2048;  // of all but the deepest stacks
  const OrderQueue::Entry entry = queue_.pop(batcher_ != nullptr ? head : all);
  handed_out_ = std::max(handed_out_, entry.time);
  hand_out(record_at(entry.chunk, entry.position));
  pool_.release(entry.chunk);
}

void Walk::hand_out(const RawRecord& raw) {
  if (stopped_) return;
  const bool going_on = batcher_ != nullptr
                            ? batcher_->add(raw)
                            : decoder_.hand_out(raw, raw.chunk->offset_of(raw.position), *handler_);
  stopped_ = !going_on;
}

}  // namespace jitscope::perfdata
