// What a tracepoint recorded beside its stack, by the recording's own description of it:
// "prev_comm=sh prev_pid=2359 prev_prio=120". Every field is shown as it was recorded; what perf
// makes of some of them (flags by name, "==>") is in the event's `print fmt`, a program that is not
// run (formats/perfdata/trace_format.h).
#pragma once

#include <string>

#include "replay/trace_formats.h"

namespace jitscope {

class TracePayloads {
 public:
  explicit TracePayloads(const perfdata::Header& header) : formats_(header) {}
  // Whether the sample has a payload that the recording describes; nothing is appended when not.
  bool append_text(std::string& out, const perfdata::Sample& sample);
  // An object of the fields.
  bool append_json(std::string& out, const perfdata::Sample& sample);

 private:
  TraceFormats formats_;
};

}  // namespace jitscope
