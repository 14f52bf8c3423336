// --comm, --pid, --tid, --cpu, --dso and --time: which samples script, report, flame and doctor
// show, in the words of perf.
#pragma once

#include <string>
#include <vector>

#include "session/sample_filter.h"

namespace jitscope::CLI {
class App;
class Option;
}  // namespace jitscope::CLI

namespace jitscope {

struct FilterArguments {
  std::vector<std::string> comms;
  std::vector<std::string> pids;
  std::vector<std::string> tids;
  std::vector<std::string> cpus;
  std::vector<std::string> dsos;
  std::string time;
};

// `dso_names`: "--dso", with a letter where the verb has it free. The last one is --dso.
void add_filter_options(CLI::App& command, FilterArguments& arguments,
                        const std::string& dso_names = "--dsos,--dso");
// --pid, where the verb has no other option of that name.
void add_pid_filter(CLI::App& command, FilterArguments& arguments);
// Usage errors.
Result<FilterOptions> filter_options(const FilterArguments& arguments);
// "comm: java", one for each that was given: what a report has in its head.
[[nodiscard]] std::vector<std::string> filter_texts(const FilterArguments& arguments);

}  // namespace jitscope
