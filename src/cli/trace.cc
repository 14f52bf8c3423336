// jitscope trace: the calls of methods, as they happen or counted.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/plural.h"
#include "cli/call_printer.h"
#include "cli/command.h"
#include "cli/live_target.h"
#include "cli/options.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "cli/trace_watch.h"
#include "mapped_code/open_code.h"
#include "probe/tracer.h"
#include "probe/undo.h"
#include "process/process.h"
#include "render/trace_text.h"
#include "runtimes/common/code_source.h"
#include "runtimes/detect.h"


namespace jitscope {
namespace {

// Few methods are called less often, and nobody reads faster.
constexpr uint64_t kLinesASecond = 1000;

constexpr std::chrono::milliseconds kLongestPause{1000};
// While stacks are being named.
constexpr std::chrono::milliseconds kShortPause{10};

struct TraceCommand {
  std::string process;
  pid_t pid = 0;
  std::vector<std::string> patterns;
  bool count = false;
  bool stack = false;
  bool json = false;
  double duration = 0;  // seconds; 0: until Ctrl-C
  uint64_t max_events = 0;
  uint64_t limit = kLinesASecond;
  uint64_t every = 0;
  size_t max_methods = 100;
  std::string backend = "auto";
  SourceOptions source;
};

std::vector<std::string> backend_names() {
  std::vector<std::string> names = {"auto"};
  for (const Backend* backend : all_backends()) names.emplace_back(backend->name);
  return names;
}

void announce(const TraceCommand& options, const CodeSource& source, const TraceStart& start) {
  for (const std::string& note : start.notes) report_note("note: " + note);
  if (!source.caveat().empty()) report_note("note: " + source.caveat());
  report_note(fmt::format("tracing {}, {} of {} compiled bodies{} ({}); stopped {}; Ctrl-C ends",
                          plural(start.methods, "method"), start.sites, start.bodies,
                          backends_text(start), start.backend_reason,
                          duration_text(start.stopped)));
  if (start.bodies == 0) {
    report_note("none of them is compiled yet: waiting for the first compiled body");
  }
  if (options.json) write_out(started_json(start));
}

// The rest of the calls and the summary: what was counted is printed whatever else went wrong. One
// who asked a second time is not kept waiting for his own reader.
void print_end(const TraceCommand& options, CallPrinter& printer, TraceReport& report) {
  std::string text = printer.finish([] { return interrupts() > 1; });
  if (printer.not_named() != 0) {
    report_note(fmt::format("{} printed without callers: naming them took too long",
                            plural(printer.not_named(), "call was", "calls were")));
  }
  for (size_t i = 0; i < report.methods.size(); ++i) report.methods[i].shown = printer.shown_of(i);
  if (printer.not_shown() != 0) {
    report_note(fmt::format("{} calls came after the last one shown", printer.not_shown()));
  }
  text += options.json ? summary_json(report) : summary_text(report, terminal().width);
  if (interrupts() < 2) {
    output().write_all(std::move(text), interrupts());
  } else {
    output().write_some(text, std::chrono::milliseconds(0));
  }
}

// Says what went wrong, what was left behind last; the exit status.
int verdict(const TraceCommand& options, const TraceReport& report,
            const std::optional<Error>& failure) {
  int status = 0;
  if (report.target_gone) {
    report_note("jitscope: the target exited or became another program");
    status = exit_status(ErrorKind::target_gone);
  } else if (failure) {
    status = report_error(*failure);
  }
  if (report.left_because) {
    Error left = *report.left_because;
    left.what = fmt::format("the entries could not be put back: {}", left.what);
    left.hint = left_text(report.entries_left, options.pid);
    status = report_error(left);
  }
  return status_with_output(status);
}

// At most until the deadline.
std::chrono::milliseconds pause_before(uint64_t deadline) {
  const uint64_t now = monotonic_ns();
  const uint64_t left = (deadline - std::min(now, deadline)) / 1'000'000 + 1;
  return std::chrono::milliseconds(std::min<uint64_t>(left, kLongestPause.count()));
}

Result<int> trace(const TraceCommand& options) {
  JITSCOPE_ASSIGN(const Process process, Process::open(options.pid));
  TraceOptions trace_options;
  JITSCOPE_ASSIGN(trace_options.runtime, or_gone(process, detect_runtime(process)));
  JITSCOPE_ASSIGN(
      const auto source,
      or_gone(process, open_all_code(process, *trace_options.runtime, options.source)));
  trace_options.patterns = options.patterns;
  trace_options.backend = find_backend(options.backend);
  trace_options.events = !options.count;
  trace_options.stacks = options.stack;
  trace_options.events_a_second = options.limit;
  trace_options.every = options.every;
  trace_options.max_methods = options.max_methods;
  int asked_until_end = 0;
  trace_options.waiting = waiting_until_interrupted(asked_until_end);
  JITSCOPE_ASSIGN(const auto tracer,
                  or_gone(process, Tracer::start(process, *source, trace_options)));
  announce(options, *source, tracer->started());

  CallPrinter printer({options.json, trace_options.stacks, options.max_events}, process, *source,
                      *tracer);
  const uint64_t deadline = options.duration > 0
                                ? monotonic_ns() + static_cast<uint64_t>(options.duration * 1e9)
                                : UINT64_MAX;
  const auto over = [&] { return interrupts() != 0 || monotonic_ns() >= deadline; };
  const auto on_call = [&](const TracedCall& call) {
    if (!options.count) printer.take(call, over);
  };
  TraceWatch watch({options.count, options.limit, options.every}, *source, *tracer);
  std::optional<Error> failure;
  bool more = true;
  bool read = true;
  while (!over() && !printer.full() && more && read) {
    auto alive = tracer->step(printer.waits() ? kShortPause : pause_before(deadline), on_call);
    more = alive.value_or(false);
    if (!alive) failure = std::move(alive.error());
    read = printer.flush(over);
    for (const std::string& note : watch.look(printer.shown())) report_note("note: " + note);
  }
  asked_until_end = interrupts();
  // The target first: it is put back before anybody is waited for.
  TraceReport report = tracer->finish(on_call);
  report.counted_only = options.count;
  if (read) print_end(options, printer, report);
  return verdict(options, report, failure);
}

}  // namespace

void add_trace_command(CLI::App& app, int& status) {
  auto options = std::make_shared<TraceCommand>();
  CLI::App* command =
      app.add_subcommand("trace", "The calls of JIT'd methods of a running process");
  add_process_option(*command, options->process);
  command->add_option("PATTERN", options->patterns, "Methods, e.g. java.util.HashMap.put");
  command->add_flag("-c,--count", options->count, "Only count, in the kernel");
  add_duration_option(*command, options->duration, "End after this time");
  command->add_option("-n,--max-events", options->max_events, "End after this many calls")
      ->check(CLI::Range(1, INT32_MAX));
  command
      ->add_option("--limit", options->limit,
                   "At most so many lines a second (N or N/s; default 1000, 0: all)")
      ->transform([](const std::string& text) {
        return text.ends_with("/s") ? text.substr(0, text.size() - 2) : text;
      })
      ->check(CLI::Range(0, INT32_MAX));
  command->add_option("--every", options->every, "Show every Nth call of each compiled body")
      ->check(CLI::Range(1, INT32_MAX));
  command->add_option("--max", options->max_methods, "At most so many methods (default 100)")
      ->check(CLI::Range(1, INT32_MAX));
  command->add_option("--backend", options->backend, "How calls are caught")
      ->check(CLI::IsMember(backend_names()));
  command->add_flag("--stack", options->stack, "With the callers");
  command->add_flag("--json", options->json, "One JSON object a line");
  command->add_flag("--force", options->source.force,
                    "Read a perf map in spite of its owner, age or being a link");
  command->add_option("--map", options->source.map_path, "Read this perf map");
  command->callback([options, &status] {
    catch_interrupts();
    if (auto chosen = choose_process(options->process, options->patterns)) {
      options->pid = *chosen;
    } else {
      status = report_error(chosen.error());
      return;
    }
    if (options->patterns.empty()) {
      status = report_error({ErrorKind::usage,
                             "trace needs a PATTERN: which methods",
                             {},
                             "e.g. 'java.util.HashMap.put', 'put*', '/regular expression/'",
                             0});
      return;
    }
    if (options->count && options->stack) {
      status =
          report_error({ErrorKind::usage,
                        "--count leaves the calls in the kernel, so --stack has nothing to show",
                        {},
                        "use one of them; --stack -n N shows the stacks of N calls",
                        0});
      return;
    }
    const Result<int> result = trace(*options);
    status = result ? *result : report_error(result.error());
  });
}

}  // namespace jitscope
