// jitscope inject: a recording that names JIT code to perf itself.

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/profile_options.h"
#include "cli/progress.h"
#include "inject/inject.h"

namespace jitscope {
namespace {

struct InjectArguments {
  ProfileArguments profile;
  InjectOptions inject;
  bool overwrite = false;
};

std::string in_units(uint64_t bytes) {
  constexpr uint64_t kilo = 1000;
  if (bytes < 10 * kilo) return fmt::format("{} bytes", bytes);
  if (bytes < 10 * kilo * kilo) return fmt::format("{} kB", bytes / kilo);
  return fmt::format("{} MB", bytes / (kilo * kilo));
}

void report(const InjectSummary& summary, const std::string& output) {
  for (const std::string& note : summary.notes) report_note(note);
  for (const InjectSummary::Image& image : summary.images) {
    report_note(fmt::format("{}: {} bodies, {} with their bytes, {}", image.path, image.bodies,
                            image.with_bytes, in_units(image.file_bytes)));
  }
  const uint64_t jit = summary.jit_samples + summary.nameless;
  report_note(
      fmt::format("{}: {} samples, {} of them in JIT code, of which {} have a name; {} "
                  "mappings written",
                  output, summary.samples, jit, summary.jit_samples, summary.mappings));
  if (summary.images.empty()) {
    report_note("no JIT code with a name: `jitscope doctor` says why");
  }
}

int run_inject(InjectArguments& arguments) {
  prepare_signals(arguments.profile.input);
  if (arguments.inject.output == "-" || arguments.inject.output.empty()) {
    return report_error({ErrorKind::usage, "the output must be a file", arguments.inject.output,
                         "places in it are filled in at the end: name one with -o FILE", 0});
  }
  auto options = session_options(arguments.profile);
  if (!options) return report_error(options.error());
  arguments.inject.naming = options->naming;
  arguments.inject.cores = options->cores;
  Progress progress("rewriting " + arguments.profile.input);
  arguments.inject.meter = &progress.meter();
  auto summary = inject(arguments.profile.input, arguments.inject);
  progress.end();
  if (!summary) {
    const bool input = summary.error().where == arguments.profile.input;
    return report_error(input ? explain_open(arguments.profile.input, summary.error())
                              : summary.error());
  }
  report(*summary, arguments.inject.output);
  return status_with_output(summary->images.empty() ? 1 : 0);
}

}  // namespace

void add_inject_command(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "inject", "Rewrite a recording so that perf itself names and annotates JIT code");
  auto arguments = std::make_shared<InjectArguments>();
  CLI::Option* input = add_profile_options(*command, arguments->profile);
  add_recording_word(*command, arguments->profile, input);
  command->add_option("-o,--output", arguments->inject.output, "The recording to write")
      ->required();
  command->add_option("--images", arguments->inject.folder,
                      "The folder for the code images (default: OUTPUT.images)");
  command->add_flag("--overwrite", arguments->inject.force,
                    "Overwrite an output that is there, and the images of its folder");
  command->add_flag("--all", arguments->inject.all,
                    "Images hold all code of the jitdumps, not only what samples need");
  command->add_option("--dwarf", arguments->inject.dwarf, "Version of the line tables: 4 or 5")
      ->check(CLI::IsMember({4, 5}))
      ->capture_default_str();
  add_source_folder_option(
      *command, arguments->inject.source_folder,
      "Where the sources lie, for perf annotate (java/util/HashMap.java in it)");
  command->callback([arguments, &status] { status = run_inject(*arguments); });
}

}  // namespace jitscope
