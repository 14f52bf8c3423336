// What `script -F` prints: chosen fields of each sample, in the layout of `perf script -F`.
//
// Fields stand in perf's order, whatever the order they were asked for. Where the event records
// stacks, `ip` prints one frame a line below the head, else the leaf behind it. Slower than
// ScriptText, which knows its fields.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "render/trace_payload.h"
#include "session/session.h"

namespace jitscope {

enum class ScriptField : uint8_t {
  comm,
  pid,
  tid,
  cpu,
  time,
  period,
  event,
  trace,
  ip,
  sym,
  symoff,
  dso,
  srcline,
};

class ScriptFields {
 public:
  // "comm,tid,ip", or "+srcline,-dso": those that are there by default, with changes.
  static Result<ScriptFields> parse(std::string_view text);

  // Of a sample with a tracepoint's payload, or another.
  [[nodiscard]] bool has(ScriptField field, bool tracepoint = false) const {
    return ((tracepoint ? of_tracepoints_ : of_others_) >> static_cast<unsigned>(field) & 1U) != 0;
  }
  // An error when an event lacks what was asked for by name.
  [[nodiscard]] Status check(const perfdata::Header& header) const;

 private:
  uint32_t of_others_ = 0;
  uint32_t of_tracepoints_ = 0;
  uint32_t named_ = 0;
};

class FieldsText {
 public:
  using Write = std::function<bool(std::string_view)>;
  FieldsText(const Session& session, const ScriptFields& fields, Write write)
      : session_(session), fields_(fields), payloads_(session.header()), write_(std::move(write)) {}
  // False when `write` said so.
  bool append(const ResolvedSample& sample);
  bool flush();

 private:
  void append_head(const ResolvedSample& sample, bool tracepoint, bool stack);
  void append_event(const perfdata::Sample& sample);
  // The lines of a location, without the first one's tab and the last one's end.
  const std::string& frame_text(LocationId id);
  [[nodiscard]] std::string one_frame(const Location& location, uint64_t ip, FrameId id,
                                      bool inlined) const;

  const Session& session_;
  ScriptFields fields_;
  TracePayloads payloads_;
  Write write_;
  std::vector<std::string> frames_;  // by location; "" not made yet
  size_t event_width_ = 0;
  std::string out_;
};

}  // namespace jitscope
