// speedscope's own JSON (https://www.speedscope.app/file-format-schema.json): one "sampled" profile
// for each thread and event; in the order of time when the profile has a timeline, else each stack
// once.
#pragma once

#include <string>

#include "profile/profile.h"

namespace jitscope {

struct SpeedscopeOptions {
  std::string name;  // of the whole; "" takes the recording's command
};

[[nodiscard]] std::string speedscope_json(const Profile& profile,
                                          const SpeedscopeOptions& options = {});

}  // namespace jitscope
