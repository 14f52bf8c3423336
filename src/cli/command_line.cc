// Each command stands in a file of its own; this one is the table of contents.
#include "cli/command_line.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/complete.h"
#include "cli/describe.h"
#include "cli/examples.h"
#include "cli/habits.h"
#include "cli/options.h"
#include "cli/pager.h"
#include "cli/version.h"

namespace jitscope {
namespace {

constexpr std::string_view kAboutJitscope =
    "jitscope gives code that a JIT wrote what ELF code has always had: names, probe points and\n"
    "ELF images, on running programs, without restarting or changing them.";

void add_commands(CLI::App& app, int& status) {
  add_ps_command(app, status);
  add_methods_command(app, status);
  add_trace_command(app, status);
  add_expose_command(app, status);
  add_record_command(app, status);
  add_script_command(app, status);
  add_report_command(app, status);
  add_flame_command(app, status);
  add_inject_command(app, status);
  add_doctor_command(app, status);
  add_agent_command(app, status);
  add_map_command(app, status);
  add_image_command(app, status);
  app.add_subcommand("help", "The help of a command, as COMMAND --help prints it");
  add_examples(app);
}

// `help record` is `record --help`; without words the list of commands is what is asked for.
std::vector<std::string> without_help_command(std::vector<std::string> words) {
  if (words.empty()) return {"--help"};
  if (words.front() != "help") return words;
  words.erase(words.begin());
  if (words.empty() || words.back() != "--help") words.emplace_back("--help");
  return words;
}

int no_command(const std::string& name) {
  report_note(fmt::format("jitscope has no command '{}'; jitscope --help lists them", name));
  return 2;
}

int parse(CLI::Root& root, const std::vector<std::string>& given) {
  const std::vector<std::string> words = without_help_command(given);
  if (words.size() > 1 && given.front() == "help" && root.app().command(words.front()) == nullptr) {
    return no_command(words.front());
  }
  const CLI::Parsing parsing = root.parse(words);
  if (parsing.named_no_command) return no_command(words.front());
  // What was typed is repeated: it may be a name of a stranger.
  write_out(parsing.out);
  write_error(parsing.errors);
  if (!parsing.fine) {
    write_error(habit_hint(given));
    return 2;
  }
  return parsing.out.empty() ? 0 : status_with_output(0);
}

}  // namespace

int run_command_line(const std::vector<std::string>& words) {
  int status = 0;
  CLI::Root root("jitscope", std::string(kAboutJitscope), version_text());
  root.app().require_subcommand(1);
  add_commands(root.app(), status);
  add_no_pager_option(root.app());
  // For scripts of ours: nobody types these.
  const std::string first = words.empty() ? "" : words.front();
  if (first == "__complete") return print_completions(root.app(), {words.begin() + 1, words.end()});
  if (first == "__describe") return print_description(root.app());
  if (first == "__parse") {
    root.app().only_parse();
    return parse(root, {words.begin() + 1, words.end()});
  }
  const int parsed = parse(root, words);
  pager().finish();
  return parsed != 0 ? parsed : status;
}

}  // namespace jitscope
