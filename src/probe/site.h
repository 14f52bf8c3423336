// Site: one address where a probe is, or was, or could not be placed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "code/code_body.h"
#include "surgery/surgery.h"

namespace jitscope {

// What a placer needs to know to place one site.
struct SiteRequest {
  uint32_t id = 0;
  CodeBody body;
  uint64_t common = 0;  // trampoline: address of the method's shared probe point, 0 = own nop
};

struct SiteOutcome {
  bool placed = false;
  // The body had changed or a thread was in the way: worth another try after the next look.
  bool retry = false;
  std::string reason;  // why not placed
  // Placed in what another jitscope made, and may be lost when that one ends.
  bool borrowed = false;
  // Placed at an entry that leads into what another jitscope made.
  bool over_foreign_jump = false;
  uint64_t since_ns = 0;  // placed: fires from here on; 0: from the end of the placing on
};

// Where the probe instruction of a site lies, ready for a uprobe.
struct ReadySlot {
  uint32_t id = 0;
  uint64_t offset = 0;  // in the file
};

// What a trampoline has to remember to be taken away.
struct PlacedJump {
  uint32_t id = 0;
  uint64_t entry = 0;
  uint64_t slot = 0;
  Bytes original;  // the covered bytes
  Bytes jump;      // ours
};

}  // namespace jitscope
