// PendingRecords: records that name a code address and wait for the next LOAD of it.
//
// Holds copies of their contents, at most kMostPending of them and kLargestRecord bytes in all;
// what no load asked for among the next kMostPending loads is forgotten, and noted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace jitscope::jitdump {

class PendingRecords {
 public:
  // `forgotten` is the note about one without its load.
  explicit PendingRecords(std::string_view forgotten) : forgotten_(forgotten) {}

  // A later one for the same address takes the place of the earlier.
  void keep(uint64_t address, std::span<const std::byte> content, Diagnostics& diagnostics);
  // To be called for every load. What waited for it, valid until the next call.
  std::optional<std::span<const std::byte>> take(uint64_t address, Diagnostics& diagnostics);

 private:
  struct Pending {
    uint64_t address = 0;
    uint64_t load = 0;  // how many loads had been seen
    std::vector<std::byte> content;
  };
  static constexpr size_t kLargestSpare = 1U << 20U;

  void drop(std::vector<Pending>::iterator one);
  void forget_old(Diagnostics& diagnostics);

  std::string_view forgotten_;
  std::vector<Pending> pending_;               // oldest first
  std::vector<std::vector<std::byte>> spare_;  // buffers to use again
  std::vector<std::byte> current_;             // what the last take() gave
  uint64_t loads_ = 0;
  uint64_t held_ = 0;
};

}  // namespace jitscope::jitdump
