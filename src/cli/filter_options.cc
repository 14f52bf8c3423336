#include "cli/filter_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "cli/options.h"

namespace jitscope {
namespace {

Result<std::vector<std::string>> names(std::string_view option,
                                       const std::vector<std::string>& lists) {
  std::vector<std::string> all;
  for (const std::string& list : lists) {
    JITSCOPE_ASSIGN(auto some, parse_name_list(option, list));
    std::ranges::move(some, std::back_inserter(all));
  }
  return all;
}

Result<std::vector<NumberRange>> numbers(std::string_view option,
                                         const std::vector<std::string>& lists, bool ranges) {
  std::vector<NumberRange> all;
  for (const std::string& list : lists) {
    JITSCOPE_ASSIGN(const auto some, parse_number_list(option, list, ranges));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// Each time one list, so that a recording may stand behind it.
void add_list(CLI::App& command, const std::string& option, std::vector<std::string>& lists,
              const std::string& about) {
  command.add_option(option, lists, about)->allow_extra_args(false);
}

}  // namespace

void add_filter_options(CLI::App& command, FilterArguments& arguments,
                        const std::string& dso_names) {
  add_list(command, "-c,--comms,--comm", arguments.comms,
           "Only samples of threads of these names (a,b; \\, is a comma of a name)");
  add_list(command, "--tid", arguments.tids, "Only samples of these threads (17,18)");
  add_list(command, "-C,--cpu", arguments.cpus, "Only samples of these CPUs (0-3,5)");
  add_list(command, dso_names, arguments.dsos,
           "Only code of these libraries, by file name or path (libc.so.6,[kernel.kallsyms])");
  command
      .add_option("--time", arguments.time,
                  "Only samples of this time: FROM,TO in seconds, either may be missing; or "
                  "shares of the recording, 10%-20%")
      ->check([](const std::string& text) {
        return text.empty() ? std::string("is empty") : std::string();
      });
}

void add_pid_filter(CLI::App& command, FilterArguments& arguments) {
  add_list(command, "--pid", arguments.pids, "Only samples of these processes (17,18)");
}

Result<FilterOptions> filter_options(const FilterArguments& arguments) {
  FilterOptions options;
  JITSCOPE_ASSIGN(options.comms, names("--comm", arguments.comms));
  JITSCOPE_ASSIGN(options.pids, numbers("--pid", arguments.pids, false));
  JITSCOPE_ASSIGN(options.tids, numbers("--tid", arguments.tids, false));
  JITSCOPE_ASSIGN(options.cpus, numbers("--cpu", arguments.cpus, true));
  JITSCOPE_ASSIGN(auto dsos, names("--dso", arguments.dsos));
  options.leaf_dsos = DsoNames(std::move(dsos));
  if (!arguments.time.empty()) {
    JITSCOPE_ASSIGN(options.times, TimeWindows::parse(arguments.time));
  }
  return options;
}

std::vector<std::string> filter_texts(const FilterArguments& arguments) {
  std::vector<std::string> texts;
  const auto add = [&](std::string_view what, const std::vector<std::string>& lists) {
    if (!lists.empty()) texts.push_back(fmt::format("{}: {}", what, fmt::join(lists, ",")));
  };
  add("comm", arguments.comms);
  add("pid", arguments.pids);
  add("tid", arguments.tids);
  add("cpu", arguments.cpus);
  add("dso", arguments.dsos);
  if (!arguments.time.empty()) texts.push_back("time: " + arguments.time);
  return texts;
}

}  // namespace jitscope
