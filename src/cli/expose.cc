// jitscope expose: makes methods ELF symbols for bpftrace, perf, ftrace and every other tool.

#include <fmt/format.h>

#include <chrono>

#include "base/plural.h"
#include "cli/command.h"
#include "cli/live_target.h"
#include "cli/options.h"
#include "cli/target.h"
#include "mapped_code/open_code.h"
#include "perf_event/tracefs.h"
#include "probe/exposer.h"
#include "probe/undo.h"
#include "process/process.h"
#include "render/json.h"
#include "render/trace_text.h"
#include "runtimes/common/code_source.h"
#include "runtimes/detect.h"

namespace jitscope {
namespace {

constexpr std::chrono::milliseconds kLongestPause{1000};

struct ExposeCommand {
  std::string process;
  pid_t pid = 0;
  std::vector<std::string> patterns;
  bool keep = false;
  bool undo = false;
  bool json = false;
  bool even_in_use = false;
  bool aliases = false;
  size_t max_methods = 100;
  SourceOptions source;
};

std::string exposed_json(const ExposedMethod& method) {
  JsonObject commands("");
  commands.text("bpftrace", method.bpftrace)
      .text("perf_probe", method.perf_probe)
      .text("perf_record", method.perf_record)
      .text("tracefs", method.tracefs);
  JsonObject line("exposed");
  line.text("method", method.method)
      .text("symbol", method.symbol)
      .text("alias", method.alias)
      .text("file", method.file)
      .address("offset", method.offset)
      .number("bodies", method.bodies)
      .number("sites", method.sites)
      .boolean("in_place", method.in_place)
      .raw("commands", commands.str());
  return line.str() + "\n";
}

std::string exposed_text(const ExposedMethod& method) {
  std::string out = fmt::format("{}\n", printable(method.method));
  if (!method.in_place) out += fmt::format("  symbol   {}\n", printable(method.symbol));
  if (!method.alias.empty()) out += fmt::format("  alias    {}\n", printable(method.alias));
  out += fmt::format("  file     {} +{:#x}\n", printable(method.file), method.offset);
  out += method.in_place
             ? fmt::format(
                   "  bodies   {} of {} alive is this one, in every process that maps the file\n",
                   method.sites, method.bodies)
             : fmt::format("  bodies   {} of {} lead through it\n", method.sites, method.bodies);
  for (const std::string& reason : method.reasons)
    out += fmt::format("           not: {}\n", printable(reason));
  const std::string perf = method.perf_probe.empty()
                               ? std::string()
                               : fmt::format("  perf     {} && {}\n", printable(method.perf_probe),
                                             printable(method.perf_record));
  // A tracepoint is there when one of the others made it.
  if (method.in_place) {
    out += perf;
    if (!method.tracefs.empty()) out += fmt::format("  tracefs  {}\n", printable(method.tracefs));
    if (!method.bpftrace.empty()) out += fmt::format("  then     {}\n", printable(method.bpftrace));
    return out;
  }
  out += fmt::format("  bpftrace {}\n", method.bpftrace.substr(method.bpftrace.find(' ') + 1));
  out += perf;
  out += fmt::format("  tracefs  {}\n", method.tracefs);
  return out;
}

// Prints methods and notes as they come.
class News {
 public:
  News(const ExposeCommand& options, const Exposer& exposer)
      : options_(options), exposer_(exposer) {}

  void print() {
    const std::vector<std::string> notes = exposer_.notes();
    for (; notes_ < notes.size(); ++notes_) report_note("note: " + notes[notes_]);
    if (methods_ >= exposer_.methods()) return;
    const std::vector<ExposedMethod> methods = exposer_.exposed();
    for (; methods_ < methods.size(); ++methods_) {
      const ExposedMethod& method = methods[methods_];
      if (read_) read_ = write_out(options_.json ? exposed_json(method) : exposed_text(method));
    }
  }

 private:
  const ExposeCommand& options_;
  const Exposer& exposer_;
  size_t notes_ = 0;
  size_t methods_ = 0;
  bool read_ = true;
};

Status expose(const ExposeCommand& options) {
  JITSCOPE_ASSIGN(const Process process, Process::open(options.pid));
  ExposeOptions expose_options;
  JITSCOPE_ASSIGN(expose_options.runtime, or_gone(process, detect_runtime(process)));
  JITSCOPE_ASSIGN(
      const auto source,
      or_gone(process, open_all_code(process, *expose_options.runtime, options.source)));
  expose_options.patterns = options.patterns;
  expose_options.max_methods = options.max_methods;
  expose_options.aliases = options.aliases;
  int asked_until_end = 0;
  expose_options.waiting = waiting_until_interrupted(asked_until_end);
  JITSCOPE_ASSIGN(const auto exposer,
                  or_gone(process, Exposer::start(process, *source, expose_options)));
  if (tracefs_directory().empty()) report_note("note: " + tracefs_missing());
  News news(options, *exposer);
  news.print();
  if (exposer->base() == 0) {
    report_note(
        "nothing was changed in the process: this code is probed in its file; `perf probe -d "
        "'jitscope:*'` takes "
        "such probes away");
    if (!source->caveat().empty()) report_note("note: " + source->caveat());
    return {};
  }
  report_note(fmt::format("live image at {:#x}; stopped {}; gdb: add-symbol-file FILE -o {:#x}",
                          exposer->base(), duration_text(exposer->stopped()), exposer->base()));
  if (options.keep) {
    exposer->keep();
    report_note(fmt::format("kept; take it back with: jitscope expose --undo -p {}", options.pid));
    return {};
  }
  report_note("in place until Ctrl-C (never put a uretprobe on it: the JVM would crash)");
  bool alive = true;
  Status failure;
  while (interrupts() == 0 && alive) {
    auto stepped = exposer->step(kLongestPause);
    if (!stepped) {
      failure = fail(std::move(stepped.error()));
      break;
    }
    alive = *stepped;
    news.print();
  }
  asked_until_end = interrupts();
  JITSCOPE_ASSIGN(const size_t restored, exposer->finish());
  if (!alive) {
    return fail(ErrorKind::target_gone, "the target exited or became another program");
  }
  report_note(fmt::format(
      "all probe points removed: {} method entries restored, target stopped {} in all, {}",
      restored, duration_text(exposer->stopped()), plural(exposer->looks(), "look")));
  return failure;
}

// What was not removed, and the command that does.
Status left_alone(const UndoReport& report, pid_t pid) {
  if (report.complete()) return {};
  if (report.in_use + report.files_in_use == 0) {
    return fail(ErrorKind::not_possible,
                fmt::format("{} live image{} left alone: the notes say why", report.unreadable,
                            report.unreadable == 1 ? "" : "s"));
  }
  const std::string what =
      report.in_use != 0
          ? fmt::format("{} live image{}", report.in_use, report.in_use == 1 ? "" : "s")
          : fmt::format("{} file{}", report.files_in_use, report.files_in_use == 1 ? "" : "s");
  return fail(ErrorKind::not_possible,
              fmt::format("{} left alone: a running jitscope works with {}", what,
                          report.in_use + report.files_in_use == 1 ? "it" : "them"),
              {},
              fmt::format("let it end by itself, or take it back all the same: jitscope expose "
                          "--undo --force -p {}",
                          pid));
}

Status undo(const ExposeCommand& options) {
  JITSCOPE_ASSIGN(const Process process, Process::open(options.pid));
  JITSCOPE_ASSIGN(const UndoReport report,
                  or_gone(process, undo_all(process, options.even_in_use)));
  for (const std::string& note : report.notes) report_note("note: " + note);
  if (options.json) {
    JsonObject line("undone");
    line.number("images", report.images)
        .number("in_use", report.in_use)
        .number("unreadable", report.unreadable)
        .number("entries_restored", report.entries_restored)
        .number("files_removed", report.files_removed)
        .number("files_in_use", report.files_in_use);
    write_out(line.str() + "\n");
  } else {
    write_out(
        fmt::format("{} live image{}, {} entries put back, {} needed nothing, {} file{} "
                    "removed; stopped {}\n",
                    report.images, report.images == 1 ? "" : "s", report.entries_restored,
                    report.entries_not_ours, report.files_removed,
                    report.files_removed == 1 ? "" : "s", duration_text(report.stopped)));
  }
  return left_alone(report, options.pid);
}

}  // namespace

void add_expose_command(CLI::App& app, int& status) {
  auto options = std::make_shared<ExposeCommand>();
  CLI::App* command =
      app.add_subcommand("expose", "Lend JIT'd methods to other tools as ordinary ELF symbols");
  add_process_option(*command, options->process);
  command->add_option("PATTERN", options->patterns, "Methods, e.g. java.util.HashMap.put");
  command->add_flag("--keep", options->keep, "Leave it in place and return");
  command->add_flag("--undo", options->undo, "Take back what a dead jitscope left in the process");
  command->add_flag(
      "--aliases", options->aliases,
      "A second symbol a method, with its signature (wildcards count calls twice then)");
  command->add_flag("--json", options->json, "One JSON object a line");
  command->add_option("--max", options->max_methods, "At most so many methods (default 100)")
      ->check(CLI::Range(1, INT32_MAX));
  command->add_flag(
      "--force", options->even_in_use,
      "With --undo: also what a running jitscope holds; else: read a perf map in spite "
      "of its owner, age or being a link");
  command->add_option("--map", options->source.map_path, "Read this perf map");
  command->callback([options, &status] {
    catch_interrupts();
    if (auto chosen = choose_process(options->process, options->patterns)) {
      options->pid = *chosen;
    } else {
      status = report_error(chosen.error());
      return;
    }
    options->source.force = options->even_in_use;
    if (options->undo && !options->patterns.empty()) {
      status = report_error(
          {ErrorKind::usage, "--undo takes back all of a process: no PATTERN", {}, {}, 0});
      return;
    }
    if (!options->undo && options->patterns.empty()) {
      status = report_error({ErrorKind::usage, "expose needs a PATTERN, or --undo", {}, {}, 0});
      return;
    }
    const Status result = options->undo ? undo(*options) : expose(*options);
    status = result ? status_with_output(0) : report_error(result.error());
  });
}

}  // namespace jitscope
