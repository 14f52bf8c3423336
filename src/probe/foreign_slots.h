// Slots of other jitscopes that this one may count in: where an entry carries the jump of another
// one already, that one's slot is as good as one of our own, and nothing has to be changed.
//
// The slot stays as long as its jump does. When the other one ends, its jump goes, and calls pass
// by: whoever shares a slot looks again and again whether the entry still leads there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "probe/site.h"
#include "process/process.h"

namespace jitscope {

struct ForeignSlot {
  uint64_t address = 0;            // where the entry's jump leads; 0: there is none to be shared
  uint64_t offset = 0;             // of the slot in its image, and in that one's file
  Bytes build_id;                  // of the image
  std::shared_ptr<UniqueFd> file;  // of the image
};

// One a body, in order. Only slots that the image's own table has for this very entry, over code
// that a trampoline may be put over, in images that we or root made.
[[nodiscard]] std::vector<ForeignSlot> find_foreign_slots(const Process& process,
                                                          std::span<const CodeBody* const> bodies);

// Whether the entry still leads there...
[[nodiscard]] bool leads_to(const Process& process, uint64_t entry, const ForeignSlot& slot);
// ... and the same image still lies there: another one may have taken its place, and the jump to it
// looks the same. One answer for all slots of the image.
[[nodiscard]] bool image_is_there(const Process& process, const ForeignSlot& slot);

}  // namespace jitscope
