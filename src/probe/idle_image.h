// Address ranges of the target that hold an image of ours which nobody uses any more, to put a new
// image there: so that any number of runs takes the address space of one.
//
// Idle is an image that we (or root) made, that no living jitscope holds, that no entry jumps into,
// and in which no thread is or can come back to. The last is only true within a stop of all
// threads, so it is the check under which the new mapping replaces the old one. How each of these
// is known: docs/how-it-works.md.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/mapped_images.h"
#include "process/process.h"
#include "surgery/surgery.h"

namespace jitscope {

// Images without a holder and without jumps, `least` to `most` bytes long, from which jumps reach
// all of [low, high) and back.
[[nodiscard]] std::vector<MappedImage> find_idle_images(const Process& process,
                                                        const std::vector<Mapping>& maps,
                                                        uint64_t low, uint64_t high, uint64_t least,
                                                        uint64_t most);

// The check for a stop of all threads: it still is that image, no thread is in it, none comes back
// into it. `busy` tells a refusal from other errors.
[[nodiscard]] StopCheck nobody_in(const Process& process, const MappedImage& image, bool& busy);

}  // namespace jitscope
