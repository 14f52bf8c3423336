// A streaming parser of perf map text (linux: tools/perf/Documentation/jit-interface.txt): lines
// `START SIZE name`, both numbers hexadecimal with or without 0x, the name is the rest of the line
// and may contain blanks.
//
// Writers append while others read: feed() takes whatever has been written so far, the half-written
// last line is kept until the rest of it comes. Lines that make no sense are counted and skipped.
// What lies in memory is bounded: a line longer than kLongestLine is skipped, not stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "formats/perfmap/perf_map_line.h"

namespace jitscope {

struct PerfMapLine {
  uint64_t address = 0;
  uint64_t size = 0;    // may be 0; address + size does not overflow
  std::string name;     // never empty
  uint64_t number = 0;  // of the line, from 1
};

class PerfMapParser {
 public:
  static constexpr size_t kLongestLine = kLongestPerfMapLine;

  // `where` names the file in diagnostics, which must outlive the parser.
  PerfMapParser(std::string where, Diagnostics& diagnostics)
      : where_(std::move(where)), diagnostics_(&diagnostics) {}

  // Appends the lines that `chunk` completes to `out`.
  void feed(std::string_view chunk, std::vector<PerfMapLine>& out);
  // The writer is done: what is left counts as a line.
  void finish(std::vector<PerfMapLine>& out);
  // Forgets the half-written line and starts counting anew (the file was replaced).
  void reset();

  // Lines seen to their end, good or bad.
  [[nodiscard]] uint64_t lines() const { return number_; }
  // Bytes of a line without an end so far.
  [[nodiscard]] bool half_line() const { return skipping_ || !partial_.empty(); }

 private:
  void take_line(std::string_view line, std::vector<PerfMapLine>& out);
  void damaged(std::string_view kind, std::string_view line);

  std::string where_;
  Diagnostics* diagnostics_;
  std::string partial_;
  uint64_t number_ = 0;
  bool skipping_ = false;  // inside a line that is too long
};

}  // namespace jitscope
