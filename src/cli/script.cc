// jitscope script: every sample with its stack, as perf script prints it, named right in time.

#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/header_option.h"
#include "cli/options.h"
#include "cli/pager.h"
#include "cli/profile_options.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "render/script_fields.h"
#include "render/script_text.h"

namespace jitscope {
namespace {

struct ScriptArguments {
  ProfileArguments profile;
  bool json = false;
  std::string fields;
  HeaderArguments header;
};

// The fields that -F names.
class FieldsPrinter : public SampleConsumer {
 public:
  FieldsPrinter(Session& session, const ScriptFields& fields)
      : text_(session, fields, [](std::string_view piece) { return output().write_bulk(piece); }) {}

  bool on_sample(const ResolvedSample& sample) override { return text_.append(sample); }
  bool flush() { return text_.flush(); }

 private:
  FieldsText text_;
};

class ScriptPrinter : public SampleConsumer {
 public:
  ScriptPrinter(Session& session, const ScriptArguments& arguments)
      : session_(session),
        text_(session, session.resolver().frames(), {arguments.profile.naming.lines},
              [](std::string_view piece) { return output().write_printable(piece); }),
        payloads_(session.header()),
        json_(arguments.json) {}

  bool on_sample(const ResolvedSample& sample) override {
    if (!json_) return text_.append(sample);
    append_script_json(out_, session_, session_.resolver().frames(), payloads_, sample);
    return out_.size() < kPiece || flush();
  }
  bool flush() {
    const bool going_on = output().write_bulk(out_) && text_.flush();
    out_.clear();
    return going_on;
  }

 private:
  static constexpr size_t kPiece = 1U << 18U;
  Session& session_;
  ScriptText text_;
  TracePayloads payloads_;
  bool json_;
  std::string out_;
};

template <typename Printer>
Status print_by(Printer printer, Session& session) {
  const Status status = session.run(printer);
  printer.flush();
  return status;
}

Status print_samples(Session& session, const ScriptArguments& arguments,
                     const std::optional<ScriptFields>& fields) {
  if (!fields) return print_by(ScriptPrinter(session, arguments), session);
  JITSCOPE_TRY(fields->check(session.header()));
  return print_by(FieldsPrinter(session, *fields), session);
}

int run_script(const ScriptArguments& arguments) {
  // A file is left at once, a pager in its own way; prepare_signals() keeps the hands of a pipe's
  // reader off Ctrl-C.
  if (arguments.json || !page_output()) catch_interrupts();
  prepare_signals(arguments.profile.input);
  auto options = session_options(arguments.profile);
  if (!options) return report_error(options.error());
  std::optional<ScriptFields> fields;
  if (!arguments.fields.empty()) {
    auto parsed = ScriptFields::parse(arguments.fields);
    if (!parsed) return report_error(parsed.error());
    options->naming.lines |= parsed->has(ScriptField::srcline);
    fields = *parsed;
  }
  // On a terminal the samples show how far it is.
  Progress progress("reading " + arguments.profile.input, !terminal().there);
  options->meter = &progress.meter();
  auto session = open_session(arguments.profile.input, *options);
  if (!session) return report_error(session.error());
  const Status header = print_header(**session, arguments.header);
  if (!header) return report_error(header.error());
  if (arguments.header.only) return status_with_output(0);
  const Status status = print_samples(**session, arguments, fields);
  progress.end();
  if (!status) return report_error(status.error());
  report_session(**session);
  return status_with_output((*session)->samples() == 0 ? 1 : 0);
}

}  // namespace

void add_script_command(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "script", "Print the samples of a recording with their stacks, as perf script does");
  auto arguments = std::make_shared<ScriptArguments>();
  CLI::Option* input = add_profile_options(*command, arguments->profile);
  add_no_pager_option(*command);
  add_filter_options(*command, arguments->profile.filter);
  add_pid_filter(*command, arguments->profile.filter);
  add_recording_word(*command, arguments->profile, input);
  CLI::Option* json = command->add_flag("--json", arguments->json, "One JSON object a sample");
  add_header_options(*command, arguments->header, json);
  command
      ->add_option("-F,--fields", arguments->fields,
                   "Fields to print, as perf has them (comm,tid,time,event,ip,sym,dso), or changes "
                   "of what is printed (+srcline,-dso)")
      ->check([](const std::string& text) {
        return text.empty() ? std::string("is empty") : std::string();
      })
      ->excludes(json);
  command->callback([arguments, &status] { status = run_script(*arguments); });
}

}  // namespace jitscope
