// What a tracepoint recorded beside its stack, by the recording's own description of it:
// "prev_comm=sh prev_pid=2359 prev_prio=120". Every field is shown as it was recorded; what perf
// makes of some of them (flags by name, "==>") is in the event's `print fmt`, a program that is not
// run (formats/perfdata/trace_format.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "formats/perfdata/reader.h"
#include "formats/perfdata/trace_format.h"

namespace jitscope {

class TracePayloads {
 public:
  explicit TracePayloads(const perfdata::Header& header) : header_(header) {}
  // Whether the sample has a payload that the recording describes; nothing is appended when not.
  bool append_text(std::string& out, const perfdata::Sample& sample);
  // An object of the fields.
  bool append_json(std::string& out, const perfdata::Sample& sample);

 private:
  const perfdata::TraceFormat* format_of(const perfdata::Sample& sample);
  void load();

  const perfdata::Header& header_;
  std::unordered_map<uint64_t, perfdata::TraceFormat> formats_;  // by id
  // Of the header when it was read: a pipe's grows.
  size_t events_ = 0;
  size_t bytes_ = 0;
  size_t loads_ = 0;
};

}  // namespace jitscope
