// What must hold for any bytes that pretend to be folded text: reading ends, in bounded memory, the
// same whatever the pieces; and what is written of it reads back as the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "render/folded.h"

namespace jitscope::fuzz {

// "" or what is wrong.
inline std::string_view check_folded(std::string_view text) {
  for (const bool comm : {false, true}) {
    const FoldedReadOptions options{
        .first_is_comm = comm, .max_line = 4096, .max_depth = 64, .max_nodes = 10'000};
    Diagnostics diagnostics;
    const Profile profile = parse_folded(text, diagnostics, options);
    if (profile.nodes.size() > options.max_nodes) return "more nodes than allowed";
    for (size_t i = 1; i < profile.nodes.size(); ++i) {
      if (profile.nodes[i].parent >= i || profile.nodes[i].frame >= profile.frames.size()) {
        return "a node that points to nothing";
      }
    }
    uint64_t samples = 0;
    for (const StackWeight& each : profile.stacks) {
      if (each.stack >= profile.nodes.size() || each.group >= profile.groups.size()) {
        return "a stack that is none";
      }
      samples += each.samples;
    }
    if (samples != profile.samples) return "the sum is not the sum";

    if (profile.events.size() == 2) continue;  // two counts a line: one event is not the whole
    const std::string written = folded_text(profile);
    if (comm) continue;  // a stack without a name would lend the name its first frame
    FoldedParser pieces({}, diagnostics);
    for (std::string_view rest = written; !rest.empty();) {
      const std::string_view piece = rest.substr(0, 1 + rest.size() % 7);
      pieces.feed(piece);
      rest.remove_prefix(piece.size());
    }
    const Profile again = pieces.finish();
    if (again.samples != profile.samples) return "samples are lost on the way";
    if (folded_text(again) != written) return "written and read, it is another profile";
  }
  return "";
}

}  // namespace jitscope::fuzz
