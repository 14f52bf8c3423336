// jitscope doctor: why names are missing or uncertain, in a recording or of a live process, and
// what to do about it.

#include "doctor/doctor.h"
#include "cli/options.h"

#include <fmt/format.h>

#include <optional>

#include "base/byte_cursor.h"
#include "capture/followed_process.h"
#include "cli/command.h"
#include "cli/pager.h"
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
  bool input_named = false;  // by -i
  std::string word;          // a recording, or a pid without -p
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
      printable(process->command_line().substr(0, 200)), runtime_name(*findings),
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
  program.kind = findings->kind;
  const bool images = findings->kind.in_images();
  const std::string advice =
      findings->jit_bytes == 0 ? "it runs no JIT code: ELF symbols name it"
      : !usable && images
          ? fmt::format("jitscope record -p {} tells of its images, which name its code",
                        process->pid())
      : usable ? fmt::format("jitscope record -p {} names its JIT code", process->pid())
               : advice_for(NoName::no_source, program);
  text += "  -> " + advice + "\n";
  JsonObject line("advice");
  line.text("text", advice);
  json += line.str() + "\n";
  write_out(arguments.json ? json : text);
  return status_with_output(usable || images || findings->jit_bytes == 0 ? 0 : 1);
}

int run_doctor(const DoctorArguments& arguments) {
  if (!arguments.json) page_output();
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
  if (diagnosis.samples == 0) {
    diagnosis.notes.push_back(no_samples_text(**session));
  } else if ((*session)->left_out() != 0) {
    diagnosis.notes.push_back(
        fmt::format("the filters left {} samples out", (*session)->left_out()));
  }
  write_out(arguments.json ? doctor_json(diagnosis) : doctor_text(diagnosis));
  return status_with_output(diagnosis.samples == 0 ? 1 : 0);
}

// A number is a pid, any other word a recording. With a recording, or with filters, -p is perf's
// --pid: which of its processes.
Status choose_subject(DoctorArguments& arguments) {
  bool recording = arguments.input_named || !filter_texts(arguments.profile.filter).empty();
  std::vector<std::string> pid;
  if (!arguments.word.empty()) {
    if (!parse_decimal(arguments.word)) {
      arguments.profile.input = arguments.word;
      recording = true;
    } else {
      pid.push_back(arguments.word);
    }
  }
  if (recording && !arguments.process.empty()) {
    arguments.profile.filter.pids.push_back(arguments.process);
    return {};
  }
  if (arguments.process.empty() && pid.empty()) return {};
  JITSCOPE_ASSIGN(arguments.pid, choose_process(arguments.process, pid));
  return {};
}

}  // namespace

void add_doctor_command(CLI::App& app, int& status) {
  CLI::App* command =
      app.add_subcommand("doctor", "Say why names are missing or uncertain, and what to do");
  auto arguments = std::make_shared<DoctorArguments>();
  CLI::Option* input = add_profile_options(*command, arguments->profile);
  add_no_pager_option(*command);
  input->check([arguments](const std::string& /*path*/) {
    arguments->input_named = true;
    return std::string();
  });
  add_filter_options(*command, arguments->profile.filter);
  add_process_option(*command, arguments->process,
                     "A live process instead of a recording, by pid or name; with -i or a filter: "
                     "only samples of these processes");
  command
      ->add_option("RECORDING|PID", arguments->word,
                   "The recording without -i, or the live process without -p")
      ->excludes(input);
  command->add_flag("--json", arguments->json, "One JSON object a line");
  command->callback([arguments, &status] {
    const Status chosen = choose_subject(*arguments);
    status = chosen ? run_doctor(*arguments) : report_error(chosen.error());
  });
}

}  // namespace jitscope
