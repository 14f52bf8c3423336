// Payloads of tracepoints; see trace_payload.h.
#include "render/trace_payload.h"

#include <fmt/format.h>

#include <set>

#include "base/printable.h"

namespace jitscope {
namespace {

using perfdata::TraceField;
using perfdata::TraceNumbers;
using perfdata::TraceValue;

constexpr uint32_t kTracepoint = 2;  // PERF_TYPE_TRACEPOINT
// A pipe describes its events before the first sample; one that goes on doing so is not followed.
constexpr size_t kMostLoads = 16;

std::string number_text(const TraceField& field, uint64_t value) {
  if (field.kind == TraceField::Kind::hexadecimal) return fmt::format("{:#x}", value);
  if (field.is_signed) return fmt::format("{}", static_cast<int64_t>(value));
  return fmt::format("{}", value);
}

std::string numbers_text(const TraceField& field, const TraceNumbers& numbers) {
  return json_array(numbers, [&](uint64_t value) { return number_text(field, value); });
}

void append_value(std::string& out, const TraceField& field, const TraceValue& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    append_printable(out, *text);
  } else if (const auto* numbers = std::get_if<TraceNumbers>(&value)) {
    out += numbers_text(field, *numbers);
  } else {
    out += number_text(field, std::get<uint64_t>(value));
  }
}

void append_json_value(std::string& out, const TraceField& field, const TraceValue& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    append_json_string(out, *text);
  } else if (const auto* numbers = std::get_if<TraceNumbers>(&value)) {
    out += numbers_text(field, *numbers);
  } else if (field.kind == TraceField::Kind::hexadecimal) {
    out += json_address(std::get<uint64_t>(value));
  } else {
    out += number_text(field, std::get<uint64_t>(value));
  }
}

}  // namespace

void TracePayloads::load() {
  if (events_ == header_.events.size() && bytes_ == header_.tracing_data.size()) return;
  if (loads_ == kMostLoads) return;
  ++loads_;
  events_ = header_.events.size();
  bytes_ = header_.tracing_data.size();
  std::set<uint64_t> wanted;
  for (const perfdata::EventInfo& event : header_.events) {
    if (event.type == kTracepoint) wanted.insert(event.config);
  }
  for (auto& format : perfdata::parse_tracing_data(header_.tracing_data, wanted)) {
    const uint64_t id = format.id;
    formats_.insert_or_assign(id, std::move(format));
  }
}

const perfdata::TraceFormat* TracePayloads::format_of(const perfdata::Sample& sample) {
  if (sample.raw.empty() || sample.event >= header_.events.size()) return nullptr;
  const perfdata::EventInfo& event = header_.events[sample.event];
  if (event.type != kTracepoint) return nullptr;
  load();
  const auto found = formats_.find(event.config);
  return found == formats_.end() ? nullptr : &found->second;
}

bool TracePayloads::append_text(std::string& out, const perfdata::Sample& sample) {
  const perfdata::TraceFormat* format = format_of(sample);
  if (format == nullptr) return false;
  const size_t before = out.size();
  TraceValue value;
  for (const TraceField& field : format->fields) {
    if (!read_trace_field(field, sample.raw, value)) continue;
    if (out.size() != before) out += ' ';
    append_printable(out, field.name);
    out += '=';
    append_value(out, field, value);
  }
  // A line that ends with a colon ends with an event's name, to those who read the text.
  if (out.size() != before && out.back() == ':') {
    out.pop_back();
    out += "\\x3a";
  }
  return true;
}

bool TracePayloads::append_json(std::string& out, const perfdata::Sample& sample) {
  const perfdata::TraceFormat* format = format_of(sample);
  if (format == nullptr) return false;
  TraceValue value;
  char before = '{';
  for (const TraceField& field : format->fields) {
    if (!read_trace_field(field, sample.raw, value)) continue;
    out += before;
    before = ',';
    append_json_string(out, field.name);
    out += ':';
    append_json_value(out, field, value);
  }
  out += before == '{' ? "{}" : "}";
  return true;
}

}  // namespace jitscope
