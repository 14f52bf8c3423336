// What the command line and NODE_OPTIONS of a program that runs V8 say about perf: whether it
// writes a perf map, where, and whether its code stays where it is. V8 moves code when it compacts;
// each of
// --perf-basic-prof, --perf-basic-prof-only-functions and --perf-prof turns the compaction of code
// off (V8: src/flags/flag-definitions.h, the implications of compact_code_space). Pure text.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace jitscope {

struct V8Flags {
  bool writes_map = false;
  bool code_is_fixed = false;
  std::string map_directory;  // --perf-basic-prof-path (absolute), "" = /tmp
};

// Options behind the program's own script name are not V8's and do not count.
[[nodiscard]] V8Flags read_v8_flags(std::span<const std::string> arguments,
                                    std::string_view node_options);

}  // namespace jitscope
