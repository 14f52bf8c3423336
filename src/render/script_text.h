// The layout of `perf script` (tools/perf/builtin-script.c), which FlameGraph, inferno, speedscope
// and the Firefox Profiler read:
//
//   comm  tid [cpu] seconds.micros:  period event:
//   \t<address> symbol+0xoffset (dso)
//
// A tracepoint has its fields behind the event, and no period:
//
//   comm  tid [cpu] seconds.micros: event: name=value name=value
//
// Every sample has this form, also where perf puts the one frame into the head's line because the
// event records no stacks: of such lines those readers see none.
//
// An ambiguous name carries a '?' behind it, a nameless frame is [unknown].
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/growing_array.h"
#include "render/trace_payload.h"
#include "session/session.h"

namespace jitscope {

struct ScriptOptions {
  bool lines = false;  // "file:line" below each frame, as perf's srcline
};

// Gives the text in large pieces of whole samples to `write`, which says whether to go on. All of
// it is printable (base/printable.h), whatever names hold.
//
// Most of the text was written before: lines of an address are made once, and what a stack shares
// with the one before of its thread, the end of its text, is copied from there in one go.
class ScriptText {
 public:
  using Write = std::function<bool(std::string_view)>;
  ScriptText(const Session& session, const FrameTable& frames, const ScriptOptions& options,
             Write write);
  // False when `write` said so.
  bool append(const ResolvedSample& sample);
  bool flush();

 private:
  // The lines of a location with a tab in front of each. Most fit; they are copied whole, so that
  // nothing depends on their length but where the next one goes.
  struct alignas(64) Text {
    static constexpr size_t kRoom = 126;
    uint16_t length = 0;  // 0: not made yet; more than kRoom: in long_texts_
    std::array<char, kRoom> bytes{};
  };
  static_assert(sizeof(Text) == 128);
  static constexpr size_t kPiece = 256U << 10U;
  // The text of a thread's last stack, and where in buffer_ it ends.
  struct Last {
    uint64_t lap = 0;
    size_t end = 0;
    std::vector<size_t> sizes{0};  // [i]: of the lines of its i outermost frames
  };

  void append_head(const ResolvedSample& sample);
  void begin_stack(const ResolvedSample& sample);
  void finish_stack();
  bool write_out();
  void make_text(LocationId location);
  const std::string& name_text(FrameId id, const Frame& frame);
  // Room for so many bytes and one Text.
  char* reserve(size_t bytes);

  std::string_view event_text(const perfdata::Sample& sample);

  const Session& session_;
  const FrameTable& frames_;
  ScriptOptions options_;
  TracePayloads payloads_;
  Write write_;
  GrowingArray<Text> texts_;  // by location
  std::unordered_map<LocationId, std::string> long_texts_;
  std::vector<std::string> names_;  // of frames, as shown; "" not made yet
  // The last sample's stack, whose lines are still to come.
  bool pending_ = false;
  uint32_t slot_ = 0;
  size_t shared_frames_ = 0;
  std::vector<LocationId> stack_;
  std::string line_;
  std::string shared_;
  // Filled from the front to the back, again and again: laps. What was written stays until the next
  // lap comes by, so that stacks can be copied from there.
  std::vector<char> buffer_;
  size_t written_ = 0;
  size_t used_ = 0;
  uint64_t lap_ = 1;
  std::vector<Last> last_;  // by SampledThread::slot
  size_t event_width_ = 0;
  // What stands behind the time: the period and the event.
  std::string event_text_;
  uint32_t event_ = UINT32_MAX;
  uint64_t period_ = 0;
  std::string payload_text_;
};

// A thread's name at the beginning of a line.
void append_comm(std::string& out, std::string_view comm);
// One JSON object a sample.
void append_script_json(std::string& out, const Session& session, const FrameTable& frames,
                        TracePayloads& payloads, const ResolvedSample& sample);

}  // namespace jitscope
