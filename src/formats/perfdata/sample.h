// The body of a SAMPLE record as a Sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/perfdata/layout.h"
#include "formats/perfdata/records.h"

namespace jitscope::perfdata {

// Words for spans that are not aligned in their record; kept to spare allocations.
struct SampleScratch {
  std::vector<uint64_t> callchain;
  std::vector<uint64_t> user_regs;
};

enum class SampleState : uint8_t {
  whole,
  cut,       // some field of variable size says more than the record holds: what precedes it counts
  unusable,  // not even the fixed fields are there
};

// Fills all of `sample` but head.type, head.misc, head.offset, mode and event. The spans point into
// `body` or `scratch`.
SampleState parse_sample(const SampleLayout& layout, std::span<const std::byte> body,
                         SampleScratch& scratch, Sample& sample);

}  // namespace jitscope::perfdata
