// JitName: a JIT source's spelling of a body's name, taken apart: what users read, tier, kind.
#pragma once

#include <string>
#include <string_view>

#include "code/code_body.h"
#include "naming/frame.h"

namespace jitscope {

struct JitName {
  std::string method;  // display name
  std::string raw;     // as the source has it, without jitscope record's own suffix
  Tier tier = Tier::unknown;
  FrameKind kind = FrameKind::jit;
};

// `recorded`: the spelling of jitscope record (code/recorded_name.h).
[[nodiscard]] JitName jit_name(Runtime runtime, std::string_view raw, bool recorded);

}  // namespace jitscope
