#include "inject/injector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "formats/perfdata/format.h"
#include "naming/jit_sources.h"

namespace jitscope {
namespace {

using perfdata::RecordType;

constexpr uint32_t kReadExecute = 5;  // PROT_READ | PROT_EXEC
constexpr uint32_t kPrivate = 2;      // MAP_PRIVATE

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool any_user_stack(const perfdata::Header& header) {
  return std::ranges::any_of(header.events, [](const perfdata::EventInfo& event) {
    return (event.sample_type & perfdata::sample_bit::kStackUser) != 0;
  });
}

// What has no place in a file, or what is written anew.
bool is_dropped(RecordType type) {
  switch (type) {
    case RecordType::header_attr:
    case RecordType::header_feature:
    case RecordType::header_event_type:
    case RecordType::tracing_data:
    case RecordType::finished_round:
      return true;
    default:
      return false;
  }
}

}  // namespace

Injector::Injector(Session& session, InjectOutput& output, const InjectOptions& options)
    : session_(session),
      output_(output),
      options_(options),
      writer_(output),
      plan_(any_user_stack(session.header())) {}

bool Injector::fail_with(Status status) {
  if (status_) status_ = std::move(status);
  return false;
}

// From the attributes that are known but not written. perf wants them to have one length.
std::vector<perfdata::Attribute> Injector::attributes(size_t from) const {
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

bool Injector::begin_output() {
  const auto& events = session_.header().events;
  if (events.empty()) {
    return fail_with(fail(ErrorKind::damaged, "the recording has records but no event attributes"));
  }
  for (const perfdata::EventInfo& event : events) {
    attr_bytes_ = std::max(attr_bytes_, (event.raw.size() + 7) / 8 * 8);
  }
  tables_ = any_user_stack(session_.header());
  plan_ = InjectPlan(tables_);
  if (auto begun = writer_.begin(attributes(0)); !begun) return fail_with(std::move(begun));
  attributes_ = events.size();
  begun_ = true;
  if (auto written = writer_.records(std::exchange(early_, {})); !written) {
    return fail_with(std::move(written));
  }
  return true;
}

bool Injector::write(std::span<const std::byte> bytes, const perfdata::RecordHead& head) {
  if (round_.full(bytes.size()) && !end_round()) return false;
  round_.add(bytes, head.has_time ? head.time : 0);
  return true;
}

bool Injector::end_round() {
  const InjectRound::Start start = round_.start(writer_);
  for (; patches_written_ < patches_.size(); ++patches_written_) {
    Patch& patch = patches_[patches_written_];
    patch.offset += patch.front ? start.mappings : start.records;
  }
  if (auto written = round_.write(writer_); !written) return fail_with(std::move(written));
  return true;
}

// What was read out of order comes in that order again: perf would sort it by time, and mappings
// that were added before it for others would lie behind it. perf holds records back until the round
// after theirs has ended; what has no time it takes at once.
bool Injector::keep_order(const perfdata::RecordHead& head) {
  const uint64_t time = head.has_time ? head.time : 0;
  if (time < newest_ && session_.header().events.front().sample_id_all) {
    if (!end_round()) return false;
    if (auto written = writer_.finished_round(); !written) return fail_with(std::move(written));
    newest_ = 0;
  }
  newest_ = std::max(newest_, time);
  return true;
}

bool Injector::on_record(const perfdata::Record& record) {
  ++summary_.records;
  const RecordType type = record.head.type;
  if (type == RecordType::auxtrace || type == RecordType::auxtrace_info) {
    return fail_with(fail(ErrorKind::not_possible,
                          "holds hardware traces (AUX area), which are not rewritten", {},
                          "decode them first: perf inject --itrace"));
  }
  if (is_dropped(type)) return true;
  if (static_cast<uint32_t>(type) >= static_cast<uint32_t>(RecordType::header_attr)) {
    if (begun_ || !session_.header().pipe) return begin() && write(record.head.bytes, record.head);
    // Of a pipe: attributes may follow.
    early_ += text_of(record.head.bytes);
    return true;
  }
  if (!begin() || !keep_order(record.head)) return false;
  views_.apply(record);
  if (const auto* mmap = std::get_if<perfdata::Mmap>(&record.body)) {
    return write_mmap(record, *mmap);
  }
  return write(record.head.bytes, record.head);
}

// A JIT's memory that grows, or is made writable and executable again, is told as one mapping of
// all that there is now. The code that lay there is still there: what is not new of the mapping is
// left out where it would hide code of ours.
void Injector::before_record(const perfdata::Record& record) {
  whole_ = true;
  const auto* mmap = std::get_if<perfdata::Mmap>(&record.body);
  if (mmap == nullptr || mmap->kernel || mmap->guest) return;
  const uint64_t end = mmap->start + mmap->length;
  const PerfView* view = views_.find(mmap->pid);
  if (view == nullptr || end <= mmap->start || !view->any(mmap->start, end)) return;
  whole_ = false;
  fresh_.clear();
  const MappedRange now = session_.processes().range_of(record.head, *mmap);
  uint64_t next = mmap->start;
  session_.processes().process(mmap->pid)->space.for_each([&](const MappedRange& before) {
    if (before.end <= next || before.start >= end || !AddressSpace::continues(now, before)) return;
    if (before.start > next) fresh_.emplace_back(next, before.start);
    next = std::min(before.end, end);
  });
  if (next < end) fresh_.emplace_back(next, end);
  whole_ = fresh_.size() == 1 && fresh_.front().first == mmap->start;
  whole_ = whole_ && fresh_.front().second == end;
}

bool Injector::write_mmap(const perfdata::Record& record, const perfdata::Mmap& mmap) {
  if (!mmap.kernel && !mmap.guest) {
    plan_.mapped(mmap.start, mmap.start + mmap.length);
    PerfView* view = views_.find(mmap.pid);
    if (whole_) fresh_.assign(1, {mmap.start, mmap.start + mmap.length});
    for (const auto& [start, end] : fresh_) {
      if (view == nullptr || end <= start) continue;
      const uint64_t before = view->changed();
      view->cover(start, end);
      settled_of(*session_.processes().process(mmap.pid))
          .view_changed(before, view->changed(), start, end);
    }
  }
  if (whole_) return write(record.head.bytes, record.head);
  for (const auto& [start, end] : fresh_) {
    out_ = text_of(record.head.bytes);
    const auto put = [this](size_t at, uint64_t value) {
      std::memcpy(out_.data() + at, &value, sizeof(value));
    };
    put(perfdata::kMmapStart, start);
    put(perfdata::kMmapLength, end - start);
    put(perfdata::kMmapOffset, mmap.page_offset + (start - mmap.start));
    if (!write(std::as_bytes(std::span(out_)), record.head)) return false;
  }
  return true;
}

void Injector::show(LocationId id, uint32_t code, const ResolvedSample& resolved, PerfView& view) {
  AddressRange range = session_.span(id).range;
  const PlannedCode& planned = plan_.code(code);
  uint64_t start = planned.start;
  uint64_t end = planned.start + planned.size;
  // An entry that a stack returns to without a call before it: perf asks for the entry itself.
  if (range.low + 1 == start && range.high == range.low) range = {start, start};
  if (range.low < start || range.low >= end) return;
  const uint64_t high = std::min(range.high, end - 1);
  if (view.shows(range.low, high, code)) return;
  // The whole body, as far as it lies in what the process has mapped there: in one piece, or in
  // more that were told one after the other.
  const AddressSpace& space = resolved.thread.process->space;
  const MappedRange* first = space.at(range.low);
  const MappedRange* last = space.at(high);
  const bool whole = first != nullptr && last != nullptr && !narrow_;
  start = std::max(start, whole ? first->start : range.low);
  end = std::min(end, whole ? last->end : high + 1);
  if (tables_ && !view.has_tables(planned.image)) add_tables(planned.image, resolved, view);
  perfdata::Mmap mmap;
  mmap.start = start;
  mmap.length = end - start;
  mmap.path = image_file(planned.image, *resolved.thread.process).path;
  const Patch patch{0, start - planned.start, code, Patch::Kind::code};
  write_mapping(resolved, mmap, &patch);
  const uint64_t before = view.changed();
  const bool memory = first != nullptr && first->memory && last != nullptr && last->memory;
  view.show(start, end, code, !memory);
  settled_->view_changed(before, view.changed(), start, end);
}

// No name is better than a wrong one: what was there before is there again.
void Injector::hide(LocationId id, const ResolvedSample& resolved, PerfView& view) {
  const AddressRange range = session_.span(id).range;
  for (const auto& [start, piece] : view.pieces(range.low, range.high)) {
    const MappedRange* mapping = resolved.thread.process->space.at(start);
    perfdata::Mmap mmap;
    mmap.start = start;
    mmap.length = piece.end - start;
    mmap.path = "//anon";
    if (mapping != nullptr) {
      const MappedFileInfo& file = session_.files().info(mapping->file);
      if (!file.path.empty()) mmap.path = file.path;
      mmap.page_offset = mapping->page_offset + (start - mapping->start);
    }
    write_mapping(resolved, mmap);
    const uint64_t before = view.changed();
    view.cover(start, piece.end);
    settled_->view_changed(before, view.changed(), start, piece.end);
  }
}

void Injector::add_tables(uint32_t image, const ResolvedSample& resolved, PerfView& view) {
  perfdata::Mmap mmap;
  mmap.path = image_file(image, *resolved.thread.process).path;
  for (const Patch::Kind kind : {Patch::Kind::anchor, Patch::Kind::tables}) {
    const Patch patch{0, 0, image, kind};
    write_mapping(resolved, mmap, &patch);
  }
  view.set_tables(image);
}

void Injector::write_mapping(const ResolvedSample& resolved, perfdata::Mmap mmap,
                             const Patch* patch) {
  const perfdata::Sample& sample = resolved.sample;
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
  ++summary_.mappings;
  if (round_.full(out_.size()) && !end_round()) return;
  const bool timed = event.sample_id_all && sample.head.has_time;
  const InjectRound::Place place =
      round_.add_mapping(std::as_bytes(std::span(out_)), timed ? sample.head.time : 0);
  if (patch == nullptr) return;
  patches_.push_back(*patch);
  patches_.back().offset = place.offset;
  patches_.back().front = place.front;
}

const InjectImageFile& Injector::image_file(uint32_t image, const ProcessLife& life) {
  if (files_.size() <= image) files_.resize(image + size_t{1});
  InjectImageFile& file = files_[image];
  if (!file.path.empty()) return file;
  const PlannedImage& planned = plan_.images()[image];
  const std::string more = planned.number > 1 ? fmt::format("-{}", planned.number) : "";
  auto created = output_.new_image(fmt::format("jit-{}{}.so", planned.pid, more));
  if (!created) {
    fail_with(fail(std::move(created.error())));
    return file;
  }
  file.path = std::move(created->path);
  file.fd = std::move(created->fd);
  file.title = fmt::format("{} (pid {})", life.comm, planned.pid);
  return file;
}

}  // namespace jitscope
