// LineTables: the DEBUG_INFO records that wait for their LOAD, and the entries of one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/diagnostics.h"
#include "formats/jitdump/jitdump.h"
#include "formats/jitdump/pending_records.h"

namespace jitscope::jitdump {

class LineTables {
 public:
  // `record` is a whole DEBUG_INFO record with its prefix.
  void keep(std::span<const std::byte> record, const Header& header, Diagnostics& diagnostics);
  // The entries that belong to `load`; views of what is held, valid until the next call.
  std::span<const LineEntry> take(const Header& header, const Load& load, Diagnostics& diagnostics);

 private:
  PendingRecords pending_{"jitdump line table without its code"};
  std::vector<LineEntry> lines_;
};

}  // namespace jitscope::jitdump
