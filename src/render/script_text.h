// The layout of `perf script` (tools/perf/builtin-script.c), which FlameGraph, inferno, speedscope
// and the Firefox Profiler read:
//
//   comm  tid [cpu] seconds.micros:  period event:
//   \t<address> symbol+0xoffset (dso)
//
// An ambiguous name carries a '?' behind it, a nameless frame is [unknown].
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/session.h"

namespace jitscope {

struct ScriptOptions {
  bool lines = false;  // "file:line" below each frame, as perf's srcline
};

// Gives the text in large pieces of whole samples to `write`, which says whether to go on.
class ScriptText {
 public:
  using Write = std::function<bool(std::string_view)>;
  ScriptText(const Session& session, const FrameTable& frames, const ScriptOptions& options,
             Write write);
  // False when `write` said so.
  bool append(const ResolvedSample& sample);
  bool flush();

 private:
  // The lines of a location, all but the first tab: bytes of texts_. Copied in whole blocks, so
  // texts_ and buffer_ have a block more than they use.
  struct Text {
    uint32_t offset = 0;
    uint32_t length = 0;  // 0: not made yet
  };
  static constexpr size_t kBlock = 32;
  static constexpr size_t kPiece = 256U << 10U;

  void append_head(const ResolvedSample& sample);
  void put(std::string_view text);
  void put_padded(std::string_view text, size_t width);
  void put_decimal(uint64_t value, size_t width, char fill = ' ');
  void put_location(LocationId location, bool tab);
  void make_text(LocationId location);
  void prefetch(LocationId location, bool text) const;
  void reserve(size_t bytes);

  const Session& session_;
  const FrameTable& frames_;
  ScriptOptions options_;
  Write write_;
  std::vector<Text> index_;  // by location
  std::string texts_;
  std::vector<char> buffer_;
  size_t used_ = 0;
  size_t event_width_ = 0;
};

// One JSON object a sample.
void append_script_json(std::string& out, const Session& session, const FrameTable& frames,
                        const ResolvedSample& sample);

}  // namespace jitscope
