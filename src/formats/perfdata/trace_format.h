// What a recording says about the payloads of its tracepoints: the TRACING_DATA feature (or
// record), which perf copies from the kernel's tracefs (tools/perf/util/trace-event-info.c), and
// the fields of one payload by it.
//
//   "\x17\x08\x44tracing" version\0 u8 endian u8 long u32 page
//   "header_page\0" u64 size bytes  "header_event\0" u64 size bytes
//   u32 count { u64 size, text }                       formats of ftrace itself
//   u32 count { system\0 u32 count { u64 size, text }}  formats of tracepoints
//
// A format is text: "name: N", "ID: N", and a line a field: "field:TYPE NAME;\toffset:8;\tsize:4;
// \tsigned:1;". Its `print fmt` is a program in C's syntax; that is not run here: a recording comes
// from strangers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace jitscope::perfdata {

struct TraceField {
  enum class Kind : uint8_t { number, hexadecimal, text, numbers };
  // data_loc, rel_loc: the field says where its bytes lie, u16 offset and u16 size.
  enum class Place : uint8_t { here, data_loc, rel_loc };
  std::string name;
  Kind kind = Kind::number;
  Place place = Place::here;
  bool is_signed = false;
  uint32_t offset = 0;
  uint32_t size = 0;
  uint32_t element = 0;  // bytes of one of `numbers`
};

struct TraceFormat {
  uint64_t id = 0;  // perf_event_attr::config of its events
  std::string name;
  std::vector<TraceField> fields;  // without those that all events have (common_pid, ...)
};

// The formats of the tracepoints in `wanted`. Damage ends the reading: what was read stands.
[[nodiscard]] std::vector<TraceFormat> parse_tracing_data(std::span<const std::byte> bytes,
                                                          std::set<uint64_t> wanted);
// One format's text.
[[nodiscard]] TraceFormat parse_trace_format(std::string_view text);

using TraceNumbers = std::vector<uint64_t>;  // sign-extended where the field is signed
using TraceValue = std::variant<uint64_t, std::string_view, TraceNumbers>;

// The field's value in a payload (PERF_SAMPLE_RAW); false when it does not lie in there.
[[nodiscard]] bool read_trace_field(const TraceField& field, std::span<const std::byte> payload,
                                    TraceValue& value);

}  // namespace jitscope::perfdata
