// Which process a command is about, and for how long: the same words in every verb.
//
//   -p 4711, -p NAME      the process; by its comm, executable, Java main class or jar
//   4711                  without -p, as the first word, where nothing else can be meant
//   -d 10, -d 500ms       for how long
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace jitscope {

// -p,--pid; a process is chosen by choose_process() when the command runs.
CLI::Option* add_process_option(CLI::App& command, std::string& process,
                                const std::string& about = "Process, by pid or name");
// -d,--duration.
CLI::Option* add_duration_option(CLI::App& command, double& seconds, const std::string& about);

// A process of this pid or name.
Result<pid_t> process_of(const std::string& text);
// The process that -p names, else the pid that stands before the `words` (patterns), which is then
// taken out of them. Errors: usage when there is neither.
Result<pid_t> choose_process(const std::string& process, std::vector<std::string>& words);

}  // namespace jitscope
