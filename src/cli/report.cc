// jitscope report: a recording as a table of methods, DSOs, processes, threads, tiers or sources.

#include "cli/options.h"
#include "render/report_table.h"

#include "base/byte_cursor.h"
#include "cli/command.h"
#include "cli/profile_options.h"
#include "code/pattern.h"
#include "profile/collector.h"
#include "profile/frame_counter.h"
#include "render/counted_report.h"
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
  double percent_limit = 0;
  size_t max_rows = SIZE_MAX;
  bool json = false;
};

// The rows whose method matches, each with its tree.
Result<std::string> trees_text(const Report& report, const ReportArguments& arguments) {
  const ReportTrees trees(report);
  std::string text = report_header_text(report);
  const std::vector<std::string> rows = report_row_texts(report, report.rows.size());
  for (const bool callers : {true, false}) {
    TreeOptions options;
    options.direction = callers ? TreeDirection::callers : TreeDirection::callees;
    for (const std::string& glob : callers ? arguments.callers : arguments.callees) {
      bool found = false;
      for (size_t row = 0; row < report.rows.size(); ++row) {
        const std::string& method = report.rows[row].frame.method;
        if (method.empty() || !glob_match(glob, method)) continue;
        found = true;
        text += rows[row];
        text += trees.text(row, options);
      }
      if (!found) {
        return fail(ErrorKind::not_found, "no method of the recording matches", glob,
                    "globs match the whole name as report shows it: '*name*'");
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
  return counted.build(description, session.resolver().frames().all(), counter);
}

Result<Report> stacked_report(Session& session, ReportOptions options, const std::string& event) {
  Collector collector(session, {});
  JITSCOPE_TRY(session.run_by_code(collector));
  const Profile profile = collector.take();
  JITSCOPE_ASSIGN(options.event, event_number(profile, event));
  return build_report(profile, options);
}

Result<std::string> shown_text(const Report& report, const ReportArguments& arguments) {
  ReportTextOptions options;
  options.min_percent = arguments.percent_limit;
  options.max_rows = arguments.max_rows;
  if (arguments.json) return report_json(report, options);
  if (!arguments.callers.empty() || !arguments.callees.empty()) {
    return trees_text(report, arguments);
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
  ReportOptions options;
  JITSCOPE_ASSIGN(options.keys, parse_report_keys(arguments.sort));
  options.measure = arguments.by_samples ? Measure::samples : Measure::weight;
  options.children = !arguments.no_children;
  options.split_tiers = arguments.split_tiers;
  JITSCOPE_ASSIGN(const auto session, open_session(arguments.profile.input, session_options));
  const bool stacks = trees || !arguments.event.empty() || !CountedReport::fits(options);
  JITSCOPE_ASSIGN(const Report report, stacks ? stacked_report(*session, options, arguments.event)
                                              : counted_report(*session, options));
  JITSCOPE_ASSIGN(const std::string text, shown_text(report, arguments));
  write_out(text);
  report_session(*session);
  empty = report.samples == 0;
  return {};
}

int run_report(const ReportArguments& arguments) {
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
  add_profile_options(*command, arguments->profile);
  command->add_option("-s,--sort", arguments->sort,
                      "method, dso, process, thread, tier, source; several with commas");
  command->add_option("--event", arguments->event, "The event to show, by name");
  command->add_option("--callers", arguments->callers,
                      "The tree of callers of the methods that match PATTERN");
  command->add_option("--callees", arguments->callees,
                      "The tree of what the methods that match PATTERN call");
  command->add_flag("-g,--graph", arguments->graph, "A tree of callers below each row");
  command->add_flag("--no-children", arguments->no_children,
                    "Only where samples hit, without those who called (total = self)");
  command->add_flag("--split-tiers", arguments->split_tiers,
                    "Compiled versions of a method in rows of their own");
  command->add_flag("--samples", arguments->by_samples, "Count samples, not the event's periods");
  command->add_option("--percent-limit", arguments->percent_limit, "Leave smaller rows out")
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--max", arguments->max_rows, "At most so many rows")
      ->check([](const std::string& text) {
        return parse_decimal(text) ? std::string() : "wants a whole number, not " + text;
      });
  command->add_flag("--json", arguments->json, "One JSON object a row");
  command->callback([arguments, &status] { status = run_report(*arguments); });
}

}  // namespace jitscope
