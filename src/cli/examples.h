// Three commands a verb that work as they are, at the end of its help and in its manual page.
#pragma once

#include <span>
#include <string_view>

#include "cli/options.h"

namespace jitscope {

struct Example {
  std::string_view about;
  std::string_view line;  // for a shell
};

// Of "record", "image build"; none for commands that have none of their own.
[[nodiscard]] std::span<const Example> examples_of(std::string_view command);

// To the help of all commands in `app`, with the exit status.
void add_examples(CLI::App& app);

}  // namespace jitscope
