// What a recording says about itself: feature sections of a file, HEADER_FEATURE and EVENT_UPDATE
// records of a pipe, and event attributes, gathered into the Header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/diagnostics.h"
#include "base/result.h"
#include "formats/perfdata/event_table.h"
#include "formats/perfdata/reader.h"

namespace jitscope::perfdata {

class Gatherer {
 public:
  Gatherer(Header& header, EventTable& events, Diagnostics& diagnostics, bool keep_raw)
      : header_(&header), events_(&events), diagnostics_(&diagnostics), keep_raw_(keep_raw) {}

  // An attribute as stored and the ids of its events, 8 bytes each.
  Status add_event(std::span<const std::byte> attr, std::span<const std::byte> ids);
  // A HEADER_ATTR record: the attribute says its size, the rest are ids.
  Status add_event_record(std::span<const std::byte> body);
  // Whether add_feature() does anything with it.
  [[nodiscard]] bool wants(uint64_t feature) const;
  // One feature's bytes. Damage and unknown features are passed over; damage is noted.
  void add_feature(uint64_t feature, std::span<const std::byte> bytes);
  void add_build_id(const BuildId& build_id);
  // An EVENT_UPDATE record: later name of an event.
  void update_event(std::span<const std::byte> body);
  // PERF_COMP_*: 1 is zstd. Empty: the recording does not say.
  [[nodiscard]] std::optional<uint32_t> compression() const { return compression_; }
  // How many more ids add_event() takes; a caller need not read others.
  [[nodiscard]] size_t ids_left() const { return IdMap::kMost - ids_; }

 private:
  bool take_feature(uint64_t feature, std::span<const std::byte> bytes);
  bool take_build_ids(std::span<const std::byte> bytes);
  bool take_event_names(std::span<const std::byte> bytes);
  void name_event(uint32_t event, std::string_view name);

  Header* header_;
  EventTable* events_;
  Diagnostics* diagnostics_;
  bool keep_raw_;
  std::optional<uint32_t> compression_;
  size_t ids_ = 0;
  size_t build_id_bytes_ = 0;
};

}  // namespace jitscope::perfdata
