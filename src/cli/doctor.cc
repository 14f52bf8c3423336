// jitscope doctor: why names are missing or uncertain, in a recording or of a live process, and
// what to do about it.

#include "doctor/doctor.h"
#include "cli/options.h"

#include <fmt/format.h>

#include <optional>

#include "capture/followed_process.h"
#include "cli/command.h"
#include "cli/profile_options.h"
#include "cli/progress.h"
#include "cli/target.h"
#include "doctor/advice.h"
#include "process/process.h"
#include "profile/collector.h"
#include "render/doctor_text.h"
#include "render/json.h"
#include "runtimes/detect.h"

namespace jitscope {
namespace {

struct DoctorArguments {
  ProfileArguments profile;
  std::string process;
  std::vector<std::string> words;  // the pid without -p
  std::optional<int> pid;
  bool json = false;
};

int diagnose_process(const DoctorArguments& arguments) {
  const auto process = Process::open(*arguments.pid);
  if (!process) return report_error(process.error());
  const auto findings = examine(*process);
  if (!findings) return report_error(findings.error());
  const std::string dump = mapped_jitdump(*process, findings->jit_mappings);
  bool usable = !dump.empty();
  std::string text = fmt::format(
      "{} {}: {}{}, {} bytes of executable memory that no ELF file backs\n", process->pid(),
      printable(process->command_line().substr(0, 200)), to_string(findings->runtime.runtime),
      findings->runtime.version.empty() ? "" : " " + printable(findings->runtime.version),
      findings->jit_bytes);
  std::string json;
  if (!dump.empty()) {
    text += fmt::format("  jitdump: usable: {}\n", printable(dump));
    JsonObject line("source");
    line.number("pid", static_cast<uint64_t>(process->pid()))
        .text("kind", "jitdump")
        .boolean("used", true)
        .text("text", dump);
    json += line.str() + "\n";
  }
  for (const SourceFinding& source : findings->sources) {
    // What else it could be told to write does not matter.
    if (!dump.empty() && !source.usable) continue;
    usable = usable || source.usable;
    text += fmt::format("  {}: {}{}\n", to_string(source.kind),
                        source.usable ? "usable: " : "not usable: ", printable(source.detail));
    JsonObject line("source");
    line.number("pid", static_cast<uint64_t>(process->pid()))
        .text("kind", to_string(source.kind))
        .boolean("used", source.usable)
        .text("text", source.detail);
    json += line.str() + "\n";
  }
  Program program(findings->runtime.runtime);
  if (const auto maps = process->maps()) program.kind = kind_of(*maps);
  const std::string advice =
      findings->jit_bytes == 0 ? "it runs no JIT code: ELF symbols name it"
      : usable ? fmt::format("jitscope record -p {} names its JIT code", process->pid())
               : advice_for(NoName::no_source, program);
  text += "  -> " + advice + "\n";
  JsonObject line("advice");
  line.text("text", advice);
  json += line.str() + "\n";
  write_out(arguments.json ? json : text);
  return status_with_output(usable || findings->jit_bytes == 0 ? 0 : 1);
}

int run_doctor(const DoctorArguments& arguments) {
  if (arguments.pid) return diagnose_process(arguments);
  prepare_signals(arguments.profile.input);
  auto options = session_options(arguments.profile);
  if (!options) return report_error(options.error());
  Progress progress("reading " + arguments.profile.input);
  options->meter = &progress.meter();
  auto session = open_session(arguments.profile.input, *options);
  if (!session) return report_error(session.error());
  Collector collector(**session, {});
  if (const Status status = (*session)->run_by_code(collector); !status) {
    return report_error(status.error());
  }
  const Profile profile = collector.take();
  progress.end();
  Diagnosis diagnosis = diagnose(**session, profile);
  if (diagnosis.samples == 0) diagnosis.notes.emplace_back(kNoSamples);
  write_out(arguments.json ? doctor_json(diagnosis) : doctor_text(diagnosis));
  return status_with_output(diagnosis.samples == 0 ? 1 : 0);
}

}  // namespace

void add_doctor_command(CLI::App& app, int& status) {
  CLI::App* command =
      app.add_subcommand("doctor", "Say why names are missing or uncertain, and what to do");
  auto arguments = std::make_shared<DoctorArguments>();
  add_profile_options(*command, arguments->profile);
  add_process_option(*command, arguments->process,
                     "A live process instead of a recording, by pid or name");
  command->add_option("PID", arguments->words, "The live process, without -p")->expected(1);
  command->add_flag("--json", arguments->json, "One JSON object a line");
  command->callback([arguments, &status] {
    if (!arguments->process.empty() || !arguments->words.empty()) {
      const auto chosen = choose_process(arguments->process, arguments->words);
      if (!chosen) {
        status = report_error(chosen.error());
        return;
      }
      arguments->pid = *chosen;
    }
    status = run_doctor(*arguments);
  });
}

}  // namespace jitscope
