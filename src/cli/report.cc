// jitscope report: a recording as a table of methods, DSOs, processes, threads, tiers or sources.

#include "render/report_table.h"

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/profile_options.h"
#include "code/pattern.h"
#include "profile/collector.h"
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

Result<uint32_t> event_number(const Profile& profile, const std::string& name) {
  if (name.empty()) return 0;
  std::string names;
  for (uint32_t i = 0; i < profile.events.size(); ++i) {
    if (profile.events[i].name == name) return i;
    names += (i == 0 ? "" : ", ") + profile.events[i].name;
  }
  return fail(ErrorKind::not_found, "the recording has no such event", name, "it has: " + names);
}

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

int run_report(const ReportArguments& arguments) {
  auto options = session_options(arguments.profile);
  if (!options) return report_error(options.error());
  const auto keys = parse_report_keys(arguments.sort);
  if (!keys) return report_error(keys.error());
  options->leaf_only = arguments.no_children;
  auto session = Session::open(arguments.profile.input, *options);
  if (!session) return report_error(session.error());
  Collector collector(**session, {});
  if (const Status status = (*session)->run(collector); !status) {
    return report_error(status.error());
  }
  const Profile profile = collector.take();
  const auto event = event_number(profile, arguments.event);
  if (!event) return report_error(event.error());
  ReportOptions report_options;
  report_options.keys = *keys;
  report_options.event = *event;
  report_options.measure = arguments.by_samples ? Measure::samples : Measure::weight;
  report_options.children = !arguments.no_children;
  report_options.split_tiers = arguments.split_tiers;
  const Report report = build_report(profile, report_options);
  std::string text;
  if (arguments.json) {
    text = report_json(report);
  } else if (!arguments.callers.empty() || !arguments.callees.empty()) {
    const auto trees = trees_text(report, arguments);
    if (!trees) return report_error(trees.error());
    text = *trees;
  } else {
    ReportTextOptions text_options;
    text_options.min_percent = arguments.percent_limit;
    text_options.max_rows = arguments.max_rows;
    text = arguments.graph ? report_with_trees(report, text_options, {})
                           : report_text(report, text_options);
  }
  write_out(text);
  report_session(**session);
  return status_with_output(profile.samples == 0 ? 1 : 0);
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
  command->add_option("--percent-limit", arguments->percent_limit, "Leave smaller rows out");
  command->add_option("--max", arguments->max_rows, "At most so many rows");
  command->add_flag("--json", arguments->json, "One JSON object a row");
  command->callback([arguments, &status] { status = run_report(*arguments); });
}

}  // namespace jitscope
