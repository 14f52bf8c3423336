// PerfMapIndex: a whole perf map for naming: which lines hold an address, without time.
//
// A perf map has no time: a later line wins, and where lines with other names hold the address too
// the answer is ambiguous. Equal names are one. Built for maps of millions of lines: 20 bytes a
// line in memory, names are read again from the source when asked for and checked against the
// line's address and size (a source that was rewritten since gives no name and says so). Only where
// lines overlap are their names read beforehand. Lines are taken as PerfMapParser takes them; those
// of size 0 hold no address. No system calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/diagnostics.h"
#include "base/result.h"

namespace jitscope {

// For formats that are perf maps with a little more.
struct PerfMapIndexOptions {
  // Gets the lines that begin with '#', which are damage otherwise.
  std::function<void(std::string_view line)> comment;
  // Gets the lines of size 0.
  std::function<void(uint64_t address, std::string_view name)> marker;
};

class PerfMapIndex {
 public:
  // `source` must be seekable and is kept.
  static Result<std::unique_ptr<PerfMapIndex>> read(std::unique_ptr<ByteSource> source,
                                                    Diagnostics& diagnostics,
                                                    const PerfMapIndexOptions& options = {});
  ~PerfMapIndex();
  PerfMapIndex(const PerfMapIndex&) = delete;
  PerfMapIndex& operator=(const PerfMapIndex&) = delete;

  struct Entry {
    uint64_t address = 0;
    uint64_t size = 0;
    uint64_t number = 0;  // of the line, from 1
    std::string name;
  };
  struct Answer {
    std::optional<Entry> entry;  // the last line that holds the address
    bool ambiguous = false;      // lines with other names hold it too
    // When ambiguous: the last line of each name, later lines first, up to kMostCandidates.
    std::vector<Entry> candidates;
    uint64_t candidate_count = 0;  // how many distinct names there are in all
    bool changed = false;          // a line holds it, but is not there any more: no entry
  };
  static constexpr size_t kMostCandidates = 8;
  [[nodiscard]] Answer at(uint64_t address) const;
  // The same without reading names: which line answers, for callers that keep names by line.
  struct Line {
    uint64_t start = 0;
    uint64_t position = 0;  // tells lines apart
    bool ambiguous = false;
    // The answer is the same for every address in [low, high].
    uint64_t low = 0;
    uint64_t high = 0;
  };
  [[nodiscard]] std::optional<Line> line_at(uint64_t address) const;
  // Where the first line behind the address begins.
  [[nodiscard]] std::optional<uint64_t> next_start(uint64_t address) const;
  // Lines seen, good or bad.
  [[nodiscard]] uint64_t lines() const;
  // Lines that hold addresses.
  [[nodiscard]] uint64_t entries() const;

 private:
  struct State;
  explicit PerfMapIndex(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace jitscope
