// jitscope report: a recording as a table of methods, DSOs, processes, threads, tiers or sources.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/byte_cursor.h"
#include "cli/command.h"
#include "cli/header_option.h"
#include "cli/options.h"
#include "cli/pager.h"
#include "cli/profile_options.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "code/inlined_copies.h"
#include "code/pattern_settle.h"
#include "profile/collector.h"
#include "profile/frame_counter.h"
#include "render/counted_report.h"
#include "render/report_table.h"
#include "render/report_tree.h"

namespace jitscope {
namespace {

struct ReportArguments {
  ProfileArguments profile;
  std::string sort = "method,dso";
  std::string event;
  std::vector<std::string> callers;
  std::vector<std::string> callees;
  bool graph = false;
  bool no_children = false;
  bool split_tiers = false;
  bool by_samples = false;
  std::string percentage = "absolute";
  double percent_limit = 0;
  size_t max_rows = SIZE_MAX;
  std::string colour = "auto";
  bool json = false;
  bool as_always = false;
  HeaderArguments header;
};

// "handle /srv/app/server.js:12:7" has its place behind a blank.
MethodName name_of_row(const std::string& method) {
  const size_t place = method.rfind(' ');
  const size_t colon = method.rfind(':');
  const bool located = place != std::string::npos && colon != std::string::npos && colon > place &&
                       parse_decimal(std::string_view(method).substr(colon + 1)).has_value();
  if (!located) return method_name_of_display(method);
  MethodName name;
  name.raw = method;
  name.function = method.substr(0, place);
  name.location = method.substr(place + 1);
  return name;
}

// Which rows a pattern means.
class RowChoice {
 public:
  explicit RowChoice(const Report& report) {
    for (const auto& row : report.rows) names_.push_back(name_of_row(row.frame.method));
    for (const MethodName& name : names_) {
      if (!name.raw.empty()) pointers_.push_back(&name);
    }
  }
  Result<std::vector<size_t>> rows(const std::string& text) const {
    JITSCOPE_ASSIGN(Pattern pattern, Pattern::parse(text));
    JITSCOPE_ASSIGN(const auto remarks, settle_patterns({&pattern, 1}, pointers_));
    for (const std::string& remark : remarks) report_note("note: " + remark);
    std::vector<size_t> found;
    for (size_t row = 0; row < names_.size(); ++row) {
      if (!names_[row].raw.empty() && pattern.matches(names_[row])) found.push_back(row);
    }
    if (!found.empty()) return found;
    const auto near = nearest_names(text, pointers_);
    return fail(ErrorKind::not_found, "no method of the recording matches", text,
                near.empty() ? "patterns match the whole name as report shows it: '*name*'"
                             : fmt::format("nearest: {}", fmt::join(near, ", ")));
  }

 private:
  std::vector<MethodName> names_;
  std::vector<const MethodName*> pointers_;
};

// The rows whose method matches, each with its tree.
Result<std::string> trees_text(const Report& report, const ReportArguments& arguments,
                               const ReportTextOptions& look) {
  const ReportTrees trees(report);
  const RowChoice choice(report);
  std::string text = report_header_text(report, look);
  const std::vector<std::string> rows = report_row_texts(report, report.rows.size(), look);
  for (const bool callers : {true, false}) {
    TreeOptions options;
    options.direction = callers ? TreeDirection::callers : TreeDirection::callees;
    for (const std::string& pattern : callers ? arguments.callers : arguments.callees) {
      JITSCOPE_ASSIGN(const auto found, choice.rows(pattern));
      for (const size_t row : found) {
        text += rows[row];
        text += trees.text(row, options, look);
      }
    }
  }
  return text;
}

// What has no trees and tells no threads apart needs no stacks in memory.
Result<Report> counted_report(Session& session, const ReportOptions& options) {
  CountedReport counted(options);
  FrameCounter counter(session, options.event,
                       [&](FrameId id, const Frame& frame) { return counted.row_of(id, frame); });
  JITSCOPE_TRY(session.run_by_code(counter));
  Profile description;
  describe(description, session);
  return counted.build(description, session.resolver().frames().take(), counter);
}

Result<Report> stacked_report(Session& session, ReportOptions options, const std::string& event) {
  const bool by_cpu = std::ranges::find(options.keys, ReportKey::cpu) != options.keys.end();
  Collector collector(session, {.by_cpu = by_cpu});
  JITSCOPE_TRY(session.run_by_code(collector));
  const Profile profile = collector.take();
  JITSCOPE_ASSIGN(options.event, event_number(profile, event));
  return build_report(profile, options);
}

// What filters left out, as far as percentages are of it too.
void describe_filters(Report& report, const Session& session, const ReportArguments& arguments) {
  report.filters = filter_texts(arguments.profile.filter);
  report.left_out = session.left_out();
  perfdata::Sample nameless;  // one without a period
  nameless.event = report.options.event;
  const auto others = session.filter().left_out_by_thread(nameless.event);
  report.others = {others.samples,
                   others.periods + others.without_period * weight_of(nameless, session.header())};
}

Result<std::string> shown_text(const Report& report, const ReportArguments& arguments) {
  ReportTextOptions options;
  options.min_percent = arguments.percent_limit;
  options.max_rows = arguments.max_rows;
  options.width = terminal().width;
  options.colour = wants_colour(arguments.colour);
  if (arguments.json) return report_json(report, options);
  if (!arguments.callers.empty() || !arguments.callees.empty()) {
    return trees_text(report, arguments, options);
  }
  if (!arguments.graph) return report_text(report, options);
  // Trees below every row would be gigabytes: below half a percent they say nothing.
  constexpr double thinnest = 0.5;
  if (options.min_percent == 0 && options.max_rows == SIZE_MAX) options.min_percent = thinnest;
  return report_with_trees(report, options, {});
}

Status show_report(const ReportArguments& arguments, bool& empty) {
  const bool trees = arguments.graph || !arguments.callers.empty() || !arguments.callees.empty();
  if (trees && arguments.json) {
    return fail(ErrorKind::usage, "--json gives rows, not trees: without -g, --callers, --callees",
                {}, "`jitscope script --json` and `jitscope flame -o x.folded` give whole stacks");
  }
  JITSCOPE_ASSIGN(SessionOptions session_options, jitscope::session_options(arguments.profile));
  session_options.leaf_only = arguments.no_children;
  Progress progress("reading " + arguments.profile.input);
  session_options.meter = &progress.meter();
  ReportOptions options;
  JITSCOPE_ASSIGN(options.keys, parse_report_keys(arguments.sort));
  if (std::ranges::find(options.keys, ReportKey::srcline) != options.keys.end()) {
    session_options.naming.lines = true;
  }
  options.measure = arguments.by_samples ? Measure::samples : Measure::weight;
  options.children = !arguments.no_children;
  options.split_tiers = arguments.split_tiers;
  options.relative = arguments.percentage == "relative";
  // A library's rows count what called it too.
  options.dsos = std::exchange(session_options.filter.leaf_dsos, {});
  JITSCOPE_ASSIGN(const auto session, open_session(arguments.profile.input, session_options));
  if (arguments.header.only) return print_header(*session, arguments.header);
  const bool stacks = trees || !arguments.event.empty() || !CountedReport::fits(options);
  JITSCOPE_ASSIGN(Report report, stacks ? stacked_report(*session, options, arguments.event)
                                        : counted_report(*session, options));
  describe_filters(report, *session, arguments);
  JITSCOPE_ASSIGN(const std::string text, shown_text(report, arguments));
  progress.end();
  // Not earlier: a pager would show it, and the progress be written into that.
  JITSCOPE_TRY(print_header(*session, arguments.header));
  // Names in it are printable already; our own colours would be made so, too.
  const bool coloured = !arguments.json && wants_colour(arguments.colour);
  coloured ? output().write_printable(text) : write_out(text);
  report_session(*session);
  empty = report.samples == 0 || report.rows.empty();
  if (report.samples != 0 && report.rows.empty() && !options.dsos.empty()) {
    report_note("no sample has code of these libraries: `jitscope report -s dso` lists them");
  }
  return {};
}

int run_report(const ReportArguments& arguments) {
  if (!arguments.json) page_output();
  prepare_signals(arguments.profile.input);
  bool empty = false;
  const Status status = show_report(arguments, empty);
  if (!status) return report_error(status.error());
  return status_with_output(empty ? 1 : 0);
}

}  // namespace

void add_report_command(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand("report", "Show a recording as a table");
  auto arguments = std::make_shared<ReportArguments>();
  CLI::Option* input = add_profile_options(*command, arguments->profile);
  add_no_pager_option(*command);
  add_filter_options(*command, arguments->profile.filter, "-d,--dsos,--dso");
  add_pid_filter(*command, arguments->profile.filter);
  add_recording_word(*command, arguments->profile, input);
  command->add_option(
      "-s,--sort", arguments->sort,
      "method, dso, comm, process, thread, cpu, tier, source, srcline; several with "
      "commas");
  command->add_option("--event", arguments->event, "The event to show, by name");
  command
      ->add_option("--callers", arguments->callers,
                   "The tree of callers of the methods that match PATTERN")
      ->allow_extra_args(false);
  command
      ->add_option("--callees", arguments->callees,
                   "The tree of what the methods that match PATTERN call")
      ->allow_extra_args(false);
  command->add_flag("-g,--graph", arguments->graph, "A tree of callers below each row");
  command->add_flag("--no-children", arguments->no_children,
                    "Only where samples hit, without those who called (total = self)");
  command->add_flag("--split-tiers", arguments->split_tiers,
                    "Compiled versions of a method in rows of their own");
  command->add_flag("--samples", arguments->by_samples, "Count samples, not the event's periods");
  command
      ->add_option("--percentage", arguments->percentage,
                   "With --comm, --pid, --tid: of all samples, or of those that are shown")
      ->check(CLI::IsMember({"absolute", "relative"}))
      ->capture_default_str();
  command->add_option("--percent-limit", arguments->percent_limit, "Leave smaller rows out")
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--max", arguments->max_rows, "At most so many rows")
      ->check([](const std::string& text) {
        return parse_decimal(text) ? std::string() : "wants a whole number, not " + text;
      });
  command->add_option("--stdio-color", arguments->colour, "Colours of percentages (default auto)")
      ->check(CLI::IsMember({"always", "never", "auto"}));
  CLI::Option* json = command->add_flag("--json", arguments->json, "One JSON object a row");
  add_header_options(*command, arguments->header, json);
  command->add_flag("--stdio,-n,--show-nr-samples", arguments->as_always,
                    "For users of perf: as it always is");
  command->callback([arguments, &status] { status = run_report(*arguments); });
}

}  // namespace jitscope
