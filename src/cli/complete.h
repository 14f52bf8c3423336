// What may come next in a command line, for the shells' completion (completions/): commands,
// options, and values, also of what runs: processes with JIT code, their methods, the events of a
// recording. Targets are only looked at.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

namespace jitscope {

struct Completions {
  struct Candidate {
    std::string text;
    std::string about;
  };
  std::vector<Candidate> candidates;
  // What the shell completes by itself, besides: ":file", ":folder", ":command"; "" for nothing.
  std::string by_shell;
};

// `words` follow the program's name; the last one is being typed.
[[nodiscard]] Completions complete(const CLI::App& app, const std::vector<std::string>& words);

// Each candidate on a line, with a tab and what it is; by_shell alone on the last line. The exit
// status.
int print_completions(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace jitscope
