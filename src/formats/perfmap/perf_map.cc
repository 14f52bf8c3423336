// Perf map lines from chunks of text; see perf_map.h. Relies on ByteCursor for every access.
#include "formats/perfmap/perf_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/byte_cursor.h"
#include "formats/perfmap/perf_map_line.h"

namespace jitscope {
void PerfMapParser::damaged(std::string_view kind, std::string_view line) {
  if (diagnostics_->count(kind) != 0) {  // the example is of the first one
    diagnostics_->note(kind);
    return;
  }
  diagnostics_->note(kind, fmt::format("{}:{}: {}", where_, number_, shown_perf_map_line(line)));
}

void PerfMapParser::take_line(std::string_view line, std::vector<PerfMapLine>& out) {
  ++number_;
  PerfMapFields fields;
  const PerfMapFault fault = parse_perf_map_line(line, fields);
  if (fault == PerfMapFault::none) {
    out.push_back(PerfMapLine{fields.address, fields.size, std::string(fields.name), number_});
  } else if (fault != PerfMapFault::blank) {
    damaged(to_string(fault), line);
  }
}

void PerfMapParser::feed(std::string_view chunk, std::vector<PerfMapLine>& out) {
  ByteCursor cursor(chunk);
  while (!cursor.at_end()) {
    const std::string_view piece = cursor.line();
    const bool complete = chunk[cursor.offset() - 1] == '\n';
    if (skipping_) {
      skipping_ = !complete;
      continue;
    }
    if (partial_.empty() && complete) {
      take_line(piece, out);
      continue;
    }
    // One byte more than allowed is enough to know that the line is too long.
    partial_ += piece.substr(0, std::min(piece.size(), kLongestLine + 2 - partial_.size()));
    if (complete) {
      take_line(partial_, out);
      partial_.clear();
    } else if (partial_.size() > kLongestLine + 1) {
      take_line(partial_, out);  // counts it as too long
      partial_.clear();
      skipping_ = true;
    }
  }
}

void PerfMapParser::finish(std::vector<PerfMapLine>& out) {
  if (!partial_.empty()) take_line(partial_, out);
  partial_.clear();
  skipping_ = false;
}

void PerfMapParser::reset() {
  partial_.clear();
  skipping_ = false;
  number_ = 0;
}

}  // namespace jitscope
