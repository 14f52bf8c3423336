// LineTables: the DEBUG_INFO records that wait for their LOAD, and the entries of one of them.
//
// Holds copies of the records, at most kMostPending of them and kLargestRecord bytes in all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/diagnostics.h"
#include "formats/jitdump/jitdump.h"

namespace jitscope::jitdump {

class LineTables {
 public:
  // `record` is a whole DEBUG_INFO record with its prefix.
  void keep(std::span<const std::byte> record, const Header& header, Diagnostics& diagnostics);
  // The entries that belong to `load`; views of what is held, valid until the next call.
  std::span<const LineEntry> take(const Header& header, const Load& load, Diagnostics& diagnostics);

 private:
  struct Pending {
    uint64_t address = 0;
    uint64_t count = 0;  // of entries, as the record says
    uint64_t load = 0;   // how many loads had been seen
    std::vector<std::byte> entries;
  };
  static constexpr size_t kLargestSpare = 1U << 20U;

  void drop(std::vector<Pending>::iterator one);
  void forget_old(Diagnostics& diagnostics);

  std::vector<Pending> pending_;               // oldest first
  std::vector<std::vector<std::byte>> spare_;  // buffers to use again
  std::vector<std::byte> current_;             // what the views of the last take() point into
  std::vector<LineEntry> lines_;
  uint64_t loads_ = 0;
  uint64_t held_ = 0;
};

}  // namespace jitscope::jitdump
