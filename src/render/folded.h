// Folded stacks: one line a stack, root first, `;` between frames, the count behind a space; what
// FlameGraph, inferno, speedscope and our own flame page read.
//
// The first frame is the thread's name, with spaces as `_`. Marks of FlameGraph behind the name:
// `_[k]` kernel, `_[j]` code of a JIT, `_[i]` inlined. An unnamed frame is `[libc.so.6]` when its
// file is known and `[unknown]` when not, as stackcollapse-perf.pl has it. `;` and what
// is not printable (base/printable.h) are `\xNN` (and so is a backslash that could be taken for the
// start of one): the reader takes that back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/diagnostics.h"
#include "profile/profile.h"
#include "render/frame_text.h"

namespace jitscope {

struct FoldedOptions {
  Measure measure = Measure::samples;
  uint32_t event = 0;       // counts of different events do not add up
  bool per_thread = false;  // first frame "comm-pid/tid" instead of "comm"
  bool unknown_as_dso = true;
};

// Gives the text in pieces of about a megabyte, each of whole lines; no stack twice.
void write_folded(const Profile& profile, const FoldedOptions& options,
                  const std::function<void(std::string_view)>& write);
[[nodiscard]] std::string folded_text(const Profile& profile, const FoldedOptions& options = {});
// One frame's text with its mark.
[[nodiscard]] std::string folded_frame(const Frame& frame, bool unknown_as_dso = true);

// Names of the events of a profile that was read.
inline constexpr std::string_view kFoldedEvent = "samples";
inline constexpr std::string_view kFoldedBefore = "before: ";
inline constexpr std::string_view kFoldedAfter = "after: ";

struct FoldedReadOptions {
  bool first_is_comm = false;  // the first frame is the thread's name, not a frame
  size_t max_line = 1U << 20U;
  size_t max_depth = 16384;  // what is deeper is cut off at the leaf, and counted
  size_t max_nodes = 1U << 27U;
};

// Reads folded text in pieces; any bytes. Lines that are none (no count at the end) are noted in
// `diagnostics` with their number and left out; lines that begin with `#` are comments. The counts
// become both samples and weight of one event "samples"; where some have a fraction, up to six
// decimals, all are in a unit that the event's name says. Two counts in each line, as
// difffolded.pl writes them, become two events, the one before and the one after.
class FoldedParser {
 public:
  FoldedParser(const FoldedReadOptions& options, Diagnostics& diagnostics);
  ~FoldedParser();
  FoldedParser(const FoldedParser&) = delete;
  FoldedParser& operator=(const FoldedParser&) = delete;

  void feed(std::string_view text);
  // The first line that has one count where those before it have two: one of the two is misread.
  // The last line has to have its end.
  [[nodiscard]] std::optional<uint64_t> odd_line() const;
  // The last line may lack its end. The parser is empty afterwards.
  [[nodiscard]] Profile finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] Profile parse_folded(std::string_view text, Diagnostics& diagnostics,
                                   const FoldedReadOptions& options = {});
// Fails when the source cannot be read, and with `damaged` when not one line was a stack or some
// have two counts and others one.
[[nodiscard]] Result<Profile> read_folded(ByteSource& source, Diagnostics& diagnostics,
                                          const FoldedReadOptions& options = {});

}  // namespace jitscope
