// Payloads of tracepoints; see trace_payload.h.
#include "render/trace_payload.h"

#include <fmt/format.h>

#include "base/printable.h"
#include "render/json.h"

namespace jitscope {
namespace {

using perfdata::TraceField;
using perfdata::TraceNumbers;
using perfdata::TraceValue;

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

bool TracePayloads::append_text(std::string& out, const perfdata::Sample& sample) {
  const perfdata::TraceFormat* format = formats_.of(sample);
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
  const perfdata::TraceFormat* format = formats_.of(sample);
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
