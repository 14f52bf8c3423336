// What must hold for any bytes that pretend to be a recording's tracing data: reading ends, and no
// field of any payload lies outside of it. Shared by the fuzz target and the unit tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>

#include "formats/perfdata/trace_format.h"

namespace jitscope::fuzz {

inline std::string_view check_fields(const perfdata::TraceFormat& format,
                                     std::span<const std::byte> payload) {
  for (const perfdata::TraceField& field : format.fields) {
    perfdata::TraceValue value;
    if (!read_trace_field(field, payload, value)) continue;
    const auto* text = std::get_if<std::string_view>(&value);
    if (text == nullptr || text->empty()) continue;
    const auto* first = reinterpret_cast<const std::byte*>(text->data());
    const uint64_t before = static_cast<uint64_t>(first - payload.data());
    if (first < payload.data() || before + text->size() > payload.size()) {
      return "a text outside of the payload";
    }
  }
  return "";
}

// "" or what is wrong.
inline std::string_view check_trace_format(std::span<const std::byte> bytes) {
  std::set<uint64_t> wanted;
  for (uint64_t id = 0; id < 1000; ++id) wanted.insert(id);
  const auto formats = perfdata::parse_tracing_data(bytes, wanted);
  if (formats.size() > wanted.size()) return "an event twice";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const auto wrong = check_fields(perfdata::parse_trace_format(text), bytes); !wrong.empty()) {
    return wrong;
  }
  for (const perfdata::TraceFormat& format : formats) {
    for (const size_t size : {size_t{0}, bytes.size() / 2, bytes.size()}) {
      if (const auto wrong = check_fields(format, bytes.first(size)); !wrong.empty()) return wrong;
    }
  }
  return "";
}

}  // namespace jitscope::fuzz
