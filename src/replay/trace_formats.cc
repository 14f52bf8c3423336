// Formats of tracepoints by event; see trace_formats.h.
#include "replay/trace_formats.h"

#include <set>
#include <utility>

namespace jitscope {
namespace {

constexpr uint32_t kTracepoint = 2;  // PERF_TYPE_TRACEPOINT
// A pipe describes its events before the first sample; one that goes on doing so is not followed.
constexpr size_t kMostLoads = 16;

}  // namespace

void TraceFormats::load() {
  if (events_ == header_.events.size() && bytes_ == header_.tracing_data.size()) return;
  if (loads_ == kMostLoads) return;
  ++loads_;
  events_ = header_.events.size();
  bytes_ = header_.tracing_data.size();
  std::set<uint64_t> wanted;
  for (const perfdata::EventInfo& event : header_.events) {
    if (event.type == kTracepoint) wanted.insert(event.config);
  }
  for (auto& format : perfdata::parse_tracing_data(header_.tracing_data, std::move(wanted))) {
    const uint64_t id = format.id;
    formats_.insert_or_assign(id, std::move(format));
  }
}

const perfdata::TraceFormat* TraceFormats::of(const perfdata::Sample& sample) {
  if (sample.raw.empty() || sample.event >= header_.events.size()) return nullptr;
  const perfdata::EventInfo& event = header_.events[sample.event];
  if (event.type != kTracepoint) return nullptr;
  load();
  const auto found = formats_.find(event.config);
  return found == formats_.end() ? nullptr : &found->second;
}

}  // namespace jitscope
