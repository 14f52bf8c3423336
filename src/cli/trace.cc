// jitscope trace: the calls of methods, as they happen or counted.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/plural.h"
#include "cli/command.h"
#include "probe/tracer.h"
#include "probe/undo.h"
#include "probe_shared.h"
#include "process/process.h"
#include "render/trace_text.h"
#include "runtimes/code_source.h"

namespace jitscope {
namespace {

struct TraceCommand {
  pid_t pid = 0;
  std::vector<std::string> patterns;
  bool count = false;
  bool stack = false;
  bool json = false;
  double duration = 0;  // seconds; 0: until Ctrl-C
  uint64_t max_events = 0;
  size_t max_methods = 100;
  std::string backend = "auto";
  SourceOptions source;
};

std::optional<Backend> backend_of(const std::string& text) {
  if (text == "trampoline") return Backend::trampoline;
  if (text == "breakpoint") return Backend::breakpoint;
  if (text == "inplace") return Backend::inplace;
  return std::nullopt;
}

// Turns events into lines and stops at --max-events.
class CallPrinter {
 public:
  CallPrinter(const TraceCommand& options, const Process& process, CodeSource& source,
              Tracer& tracer)
      : options_(options), source_(source), tracer_(tracer), namer_(process) {}

  void take(const TracedCall& call) {
    if (options_.count) return;
    if (full()) {
      ++not_shown_;
      return;
    }
    ++events_;
    CallLine line;
    line.time_ns = call.event.call->time_ns;
    line.pid = call.event.call->pid;
    line.tid = call.event.call->tid;
    line.method = tracer_.methods().display(call.method);
    const std::string short_name = tracer_.methods().name(call.method).short_name();
    line.short_name = short_name;
    const auto arguments = decode_arguments(*call.body, *call.event.call);
    line.arguments = arguments;
    Stack stack;
    if (options_.stack) {
      stack = name_stack(call.event);
      line.stack = &stack;
    }
    if (options_.json) {
      append_call_json(out_, line);
    } else {
      append_call_text(out_, line);
    }
  }

  // Writes what there is, until `stop` says so (a stalled reader must not keep a trace from
  // ending). False when nobody reads the output any more.
  template <typename Stop>
  bool flush(Stop&& stop) {
    while (!out_.empty() && !stop()) {
      if (!output().write_some(out_, std::chrono::milliseconds(20))) return false;
    }
    return true;
  }
  // What is not written yet.
  std::string take_rest() { return std::exchange(out_, {}); }
  // Calls that came after the last one shown (--max-events).
  [[nodiscard]] uint64_t not_shown() const { return not_shown_; }
  [[nodiscard]] bool full() const {
    return options_.max_events != 0 && events_ >= options_.max_events;
  }

 private:
  Stack name_stack(const CallEvent& event) {
    constexpr uint64_t longest = 1'000'000'000;
    constexpr uint64_t shortest = 100'000'000;
    if (monotonic_ns() - named_ns_ > longest) refresh_names();
    Stack stack = namer_.walk(event.call->sp, event.call->fp, event.stack);
    // A caller that was compiled after the last look: look again, once for a burst of them.
    const bool unknown = std::ranges::any_of(
        stack.frames, [](const StackFrame& frame) { return frame.in_jit_memory; });
    if (unknown && monotonic_ns() - named_ns_ > shortest) {
      refresh_names();
      stack = namer_.walk(event.call->sp, event.call->fp, event.stack);
    }
    return stack;
  }

  void refresh_names() {
    if (const auto snapshot = source_.read()) namer_.update(*snapshot);
    named_ns_ = monotonic_ns();
  }

  const TraceCommand& options_;
  CodeSource& source_;
  Tracer& tracer_;
  StackNamer namer_;
  std::string out_;
  uint64_t events_ = 0;
  uint64_t not_shown_ = 0;
  uint64_t named_ns_ = 0;
};

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
void print_end(const TraceCommand& options, CallPrinter& printer, const TraceReport& report) {
  if (printer.not_shown() != 0) {
    report_note(fmt::format("{} calls came after the last one shown", printer.not_shown()));
  }
  std::string text =
      printer.take_rest() + (options.json ? summary_json(report) : summary_text(report));
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

Result<int> trace(const TraceCommand& options) {
  JITSCOPE_ASSIGN(const Process process, Process::open(options.pid));
  JITSCOPE_ASSIGN(const auto source, open_code_source(process, options.source));
  TraceOptions trace_options;
  trace_options.patterns = options.patterns;
  trace_options.backend = backend_of(options.backend);
  trace_options.events = !options.count;
  trace_options.stacks = options.stack;
  trace_options.max_methods = options.max_methods;
  trace_options.stop_asked = [] { return interrupts() != 0; };
  int asked_until_end = 0;
  trace_options.leave_asked = [&] { return interrupts() > asked_until_end; };
  trace_options.on_wait = report_wait;
  JITSCOPE_ASSIGN(const auto tracer, Tracer::start(process, *source, trace_options));
  announce(options, *source, tracer->started());

  CallPrinter printer(options, process, *source, *tracer);
  const auto on_call = [&](const TracedCall& call) { printer.take(call); };
  const uint64_t deadline = options.duration > 0
                                ? monotonic_ns() + static_cast<uint64_t>(options.duration * 1e9)
                                : UINT64_MAX;
  const auto over = [&] { return interrupts() != 0 || monotonic_ns() >= deadline; };
  std::optional<Error> failure;
  bool more = true;
  bool read = true;
  while (!over() && !printer.full() && more && read) {
    auto alive = tracer->step(std::chrono::milliseconds(10), on_call);
    more = alive.value_or(false);
    if (!alive) failure = std::move(alive.error());
    read = printer.flush(over);
  }
  asked_until_end = interrupts();
  // The target first: it is put back before anybody is waited for.
  const TraceReport report = tracer->finish(on_call);
  if (read) print_end(options, printer, report);
  return verdict(options, report, failure);
}

}  // namespace

void add_trace_command(CLI::App& app, int& status) {
  auto options = std::make_shared<TraceCommand>();
  CLI::App* command =
      app.add_subcommand("trace", "The calls of JIT'd methods of a running process");
  command->add_option("-p,--pid", options->pid, "Process")->required();
  command->add_option("PATTERN", options->patterns, "Methods, e.g. java.util.HashMap.put")
      ->required();
  command->add_flag("--count", options->count, "Only count, in the kernel");
  command->add_option("--duration", options->duration, "End after this many seconds")
      ->check(check_seconds);
  command->add_option("--max-events", options->max_events, "End after this many calls")
      ->check(CLI::Range(1, INT32_MAX));
  command->add_option("--max", options->max_methods, "At most so many methods (default 100)")
      ->check(CLI::Range(1, INT32_MAX));
  command->add_option("--backend", options->backend, "How calls are caught")
      ->check(CLI::IsMember({"auto", "trampoline", "breakpoint", "inplace"}));
  command->add_flag("--stack", options->stack, "With the callers");
  command->add_flag("--json", options->json, "One JSON object a line");
  command->add_flag("--force", options->source.force,
                    "Read a perf map in spite of its owner, age or being a link");
  command->add_option("--map", options->source.map_path, "Read this perf map");
  command->callback([options, &status] {
    catch_interrupts();
    if (options->count && options->stack) {
      status =
          report_error({ErrorKind::usage,
                        "--count leaves the calls in the kernel, so --stack has nothing to show",
                        {},
                        "use one of them; --stack --max-events N shows the stacks of N calls",
                        0});
      return;
    }
    const Result<int> result = trace(*options);
    status = result ? *result : report_error(result.error());
  });
}

}  // namespace jitscope
