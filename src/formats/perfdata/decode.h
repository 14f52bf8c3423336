// The bodies of all records but samples as structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "formats/perfdata/layout.h"
#include "formats/perfdata/reader.h"
#include "formats/perfdata/records.h"

namespace jitscope::perfdata {

[[nodiscard]] CpuMode cpu_mode(uint16_t misc);

// Reads the sample_id trailer that `layout` (null: none) says is there into pid, tid, time, id and
// cpu of `head`, and returns the body without it. A body that is too small for one has none.
std::span<const std::byte> split_trailer(const SampleLayout* layout,
                                         std::span<const std::byte> body, RecordHead& head);

// `body` is without trailer; `record.head.type` and `.misc` say what it is. False when it is too
// short for its type. The time of FORK and EXIT becomes that of a head that has none.
bool decode_body(std::span<const std::byte> body, Record& record);

// One entry of the BUILD_ID feature or a BUILD_ID record.
bool decode_build_id(uint16_t misc, std::span<const std::byte> body, BuildId& out);
// A TIME_CONV record.
[[nodiscard]] std::optional<Header::TimeConversion> decode_time_conversion(
    std::span<const std::byte> body);

}  // namespace jitscope::perfdata
