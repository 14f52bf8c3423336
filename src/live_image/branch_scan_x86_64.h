// Looks through a body for direct branches into bytes that a jump is to lie over (internal to
// relocation; see relocate.h for what counts).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace jitscope {

struct CoveredBytes {
  uint32_t length = 0;  // from the start of the body; at most 32
  uint32_t starts = 0;  // bit n: an instruction begins n bytes into the body
};

// The offset in the body of the first branch found whose target lies strictly inside.
std::optional<uint64_t> find_branch_into(std::span<const std::byte> body,
                                         const CoveredBytes& covered);

}  // namespace jitscope
