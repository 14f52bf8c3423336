#include "inject/injector.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "formats/perfdata/format.h"

namespace jitscope {
namespace {

using perfdata::RecordType;

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
      options_(options),
      plan_(any_user_stack(session.header())),
      writer_(session, output),
      mender_(session, output, writer_, plan_),
      checker_(session, mender_, plan_, views_) {}

// Before the first record that is written: of a pipe attributes may come late.
Status Injector::begin() {
  if (writer_.begun()) return {};
  plan_ = InjectPlan(any_user_stack(session_.header()));
  return writer_.begin();
}

Status Injector::on_sample(const UnresolvedSample& sample) {
  ++summary_.records;
  ++summary_.samples;
  const perfdata::RecordHead& head = sample.sample.head;
  JITSCOPE_TRY(begin());
  JITSCOPE_TRY(writer_.keep_order(head));
  JITSCOPE_TRY(checker_.check(sample));
  return writer_.write(head.bytes, head);
}

Status Injector::on_record(const perfdata::Record& record) {
  ++summary_.records;
  const RecordType type = record.head.type;
  if (type == RecordType::auxtrace || type == RecordType::auxtrace_info) {
    return fail(ErrorKind::not_possible,
                "holds hardware traces (AUX area), which are not rewritten", {},
                "decode them first: perf inject --itrace");
  }
  if (is_dropped(type)) return {};
  if (static_cast<uint32_t>(type) >= static_cast<uint32_t>(RecordType::header_attr)) {
    if (!writer_.begun() && session_.header().pipe) {
      writer_.hold(record.head.bytes);
      return {};
    }
    JITSCOPE_TRY(begin());
    return writer_.write(record.head.bytes, record.head);
  }
  JITSCOPE_TRY(begin());
  JITSCOPE_TRY(writer_.keep_order(record.head));
  views_.apply(record);
  if (const auto* mmap = std::get_if<perfdata::Mmap>(&record.body)) {
    return write_mmap(record, *mmap);
  }
  return writer_.write(record.head.bytes, record.head);
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

Status Injector::write_mmap(const perfdata::Record& record, const perfdata::Mmap& mmap) {
  if (!mmap.kernel && !mmap.guest) {
    plan_.mapped(mmap.start, mmap.start + mmap.length);
    PerfView* view = views_.find(mmap.pid);
    if (whole_) fresh_.assign(1, {mmap.start, mmap.start + mmap.length});
    for (const auto& [start, end] : fresh_) {
      if (view == nullptr || end <= start) continue;
      const uint64_t before = view->changed();
      view->cover(start, end);
      checker_.settled_of(*session_.processes().process(mmap.pid))
          .view_changed(before, view->changed(), start, end);
    }
  }
  if (whole_) return writer_.write(record.head.bytes, record.head);
  for (const auto& [start, end] : fresh_) {
    out_.assign(reinterpret_cast<const char*>(record.head.bytes.data()), record.head.bytes.size());
    const auto put = [this](size_t at, uint64_t value) {
      std::memcpy(out_.data() + at, &value, sizeof(value));
    };
    put(perfdata::kMmapStart, start);
    put(perfdata::kMmapLength, end - start);
    put(perfdata::kMmapOffset, mmap.page_offset + (start - mmap.start));
    JITSCOPE_TRY(writer_.write(std::as_bytes(std::span(out_)), record.head));
  }
  return {};
}

}  // namespace jitscope
