// perf_event_attr as EventInfo, and the name perf would give an event that no one named.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "formats/perfdata/reader.h"

namespace jitscope::perfdata {

// `bytes` is what is stored of the attribute, 64 bytes or more; fields of later versions that are
// not there are 0, unknown later ones are ignored. Damaged when shorter than the first version.
Result<EventInfo> parse_attr(std::span<const std::byte> bytes);

// The size the attribute says it has; 0 (the first perfs) means the first version.
[[nodiscard]] uint32_t stored_attr_size(std::span<const std::byte> bytes);

}  // namespace jitscope::perfdata
