// The flame graph page: one HTML file with everything in it (its template: src/render/flame/),
// drawn on a canvas from a compact tree; no network, no library. Names in it are data only: they
// stand in a JSON block in which no `<` is left, and reach the document as text.
#pragma once

#include <cstdint>
#include <string>

#include "profile/profile.h"
#include "render/frame_text.h"

namespace jitscope {

struct FlameOptions {
  std::string title;   // "" takes the recording's command
  uint32_t event = 0;  // shown first; the page offers the others
  Measure measure = Measure::samples;
  bool icicle = false;       // root at the top
  bool reverse = false;      // merged from the leaf
  bool split_lines = false;  // a frame for each line of a method
};

[[nodiscard]] std::string flame_page(const Profile& profile, const FlameOptions& options = {});

struct FlameDiffOptions : FlameOptions {
  std::string before_name = "before";
  std::string after_name = "after";
};

// Two profiles in one tree, coloured by how much more (red) or less (blue) of its whole a frame has
// in the second. Frames are matched by method and file, whatever their tier; without a file in one
// of the profiles (folded text) by method. Events are matched by name.
[[nodiscard]] std::string flame_diff_page(const Profile& before, const Profile& after,
                                          const FlameDiffOptions& options = {});

}  // namespace jitscope
