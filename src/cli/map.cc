// jitscope map: a perf map, or a jitdump, of a live process, for tools that know no more.

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/same_file.h"
#include "capture/look_pacer.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/target.h"
#include "export/live_dump.h"
#include "export/live_map.h"
#include "process/process.h"
#include "render/json.h"
#include "runtimes/common/code_source.h"
#include "runtimes/open_source.h"

namespace jitscope {
namespace {

constexpr uint64_t kShortestPause = 100'000'000;
constexpr uint64_t kLongestPause = 2'000'000'000;
// A JVM that has just started has no code yet.
constexpr uint64_t kPatience = 3'000'000'000;

struct MapCommand {
  std::string process;
  std::vector<std::string> words;  // the pid without -p
  pid_t pid = 0;
  std::string output;
  bool unfold = false;
  bool unfold_all = false;
  bool unfold_simple = false;
  bool signature = false;
  bool source_position = false;
  bool dotted_class = false;
  bool clean_class = false;
  bool follow = false;
  bool jitdump = false;
  bool extended = false;
  double duration = 0;
  SourceOptions source;
};

class Pacer {
 public:
  explicit Pacer(double duration)
      : deadline_(duration > 0 ? monotonic_ns() + static_cast<uint64_t>(duration * 1e9)
                               : UINT64_MAX) {}
  void begin() { before_ = process_cpu_ns(); }
  // Until the next look, or the end; false at the end.
  bool wait() {
    const uint64_t cost = std::exchange(first_, false) ? 0 : process_cpu_ns() - before_;
    const uint64_t now = monotonic_ns();
    const uint64_t until = std::min(now + pacer_.pause_after(now, cost), deadline_);
    while (interrupts() == 0 && monotonic_ns() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return interrupts() == 0 && monotonic_ns() < deadline_;
  }

 private:
  LookPacer pacer_{{kShortestPause, kLongestPause}};
  uint64_t deadline_;
  uint64_t before_ = 0;
  bool first_ = true;
};

Result<std::unique_ptr<CodeSource>> open_source(const MapCommand& command, const Process& process) {
  const uint64_t give_up = monotonic_ns() + kPatience;
  while (true) {
    auto source = open_code_source(process, command.source);
    // What follows has time; what is asked once gets an answer now.
    const bool young = !source && command.follow && source.error().kind != ErrorKind::target_gone &&
                       monotonic_ns() < give_up && interrupts() == 0;
    if (!young) return source;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

LiveMapOptions map_options(const MapCommand& command) {
  LiveMapOptions options;
  if (command.unfold) options.unfold = Unfold::inlined;
  if (command.unfold_all) options.unfold = Unfold::all;
  if (command.unfold_simple) options.unfold = Unfold::simple;
  options.style.signature = command.signature;
  options.style.source_position = command.source_position;
  options.style.dotted_class = command.dotted_class;
  options.style.clean_class = command.clean_class;
  return options;
}

// Whether the output is the very file that the source reads (by whatever path).
bool is_own_map(const CodeSource& source, const std::string& output) {
  struct stat read = {};
  struct stat written = {};
  return ::stat(source.map_file().c_str(), &read) == 0 && ::stat(output.c_str(), &written) == 0 &&
         same_file(read, written);
}

void report_map(const LiveMap& map, const std::string& output, const std::string& source) {
  report_note(fmt::format("{} lines ({} code bodies) from {}{}", map.lines(), map.bodies(), source,
                          output == "-" ? std::string() : " in " + printable(output)));
  if (map.torn() != 0) {
    report_note(fmt::format("{} bodies changed while they were read and are missing", map.torn()));
  }
  if (map.without_ranges() != 0) {
    report_note(
        fmt::format("of {} methods nothing is known about what was inlined", map.without_ranges()));
  }
}

Result<int> write_map(const MapCommand& command) {
  JITSCOPE_ASSIGN(const Process process, Process::open(command.pid));
  const auto opened = open_source(command, process);
  if (!opened) return fail(with_own_jitdump(opened.error(), process));
  const std::unique_ptr<CodeSource>& source = *opened;
  std::string output = command.output;
  if (output.empty()) output = fmt::format("/tmp/perf-{}.map", command.pid);
  if (is_own_map(*source, output)) {
    return fail(ErrorKind::usage, "this is the map that the process writes itself", output,
                "it can be used as it is");
  }
  if (!source->caveat().empty()) report_note(source->caveat());
  const LiveMapOptions options = map_options(command);
  const bool java = source->kind() != SourceKind::perf_map;
  if (!java && (options.unfold != Unfold::none || options.style.source_position)) {
    report_note("only HotSpot tells what was inlined: these options change nothing here");
  }
  LiveMap map(options);
  Pacer pacer(command.duration);
  bool first = true;
  while (true) {
    pacer.begin();
    const auto changed = map.update(*source);
    if (!changed) {
      if (first || changed.error().kind != ErrorKind::target_gone) {
        return fail(changed.error());
      }
      break;  // the process has ended: what was known stays
    }
    if (*changed || first) {
      if (output == "-") {
        if (!command.follow) write_out(map.text());  // else at the end
      } else {
        JITSCOPE_TRY(replace_file(output, map.text(), command.source.force));
      }
    }
    if (first) report_map(map, output, source->describe());
    first = false;
    if (!command.follow || !pacer.wait()) break;
  }
  if (command.follow && output == "-") write_out(map.text());
  if (command.follow) report_map(map, output, source->describe());
  if (map.lines() == 0) {
    return fail(ErrorKind::not_found, "the process has no code that can be named", {},
                "let it run a while: only compiled methods have code");
  }
  return status_with_output(0);
}

// A folder gets a file of the name that perf looks for.
std::string dump_path(const std::string& output) {
  std::string name = fmt::format("jit-{}.dump", ::getpid());
  struct stat there = {};
  if (output.empty()) return name;
  if (::stat(output.c_str(), &there) == 0 && S_ISDIR(there.st_mode)) return output + "/" + name;
  return output;
}

Result<int> write_dump(const MapCommand& command) {
  if (command.output == "-") {
    return fail(ErrorKind::usage, "a jitdump is not written to standard output", {},
                "-o FILE: it has to be a file that can be mapped");
  }
  const std::string path = dump_path(command.output);
  JITSCOPE_ASSIGN(LiveDump dump,
                  LiveDump::create(command.pid, path, command.source, !command.follow,
                                   command.extended ? DumpForm::extended : DumpForm::standard));
  Pacer pacer(command.duration);
  const uint64_t give_up = monotonic_ns() + kPatience;
  bool announced = false;
  while (true) {
    pacer.begin();
    const Status looked = dump.look();
    if (!looked && (monotonic_ns() > give_up || looked.error().kind == ErrorKind::target_gone ||
                    dump.ended())) {
      return fail(looked.error());
    }
    if (!announced && dump.marked()) {
      announced = true;
      report_note(fmt::format("{} code bodies from {} in {}", dump.summary().bodies,
                              printable(dump.summary().source), printable(path)));
      if (command.follow) {
        report_note(fmt::format("perf finds it in recordings of -p {},{} or -a, with -k mono",
                                command.pid, ::getpid()));
      }
    }
    if (dump.ended() || (looked && !command.follow)) break;
    if (!pacer.wait()) break;
  }
  dump.finish();
  const FollowedSummary summary = dump.summary();
  report_note(fmt::format("{} code bodies ({} gone), {} looks", summary.bodies, summary.gone,
                          summary.looks));
  if (summary.skipped != 0) report_note(fmt::format("{} were skipped", summary.skipped));
  if (summary.bodies == 0) {
    return fail(ErrorKind::not_found, "the process has no code that can be named", {},
                "let it run a while: only compiled methods have code");
  }
  return 0;
}

}  // namespace

void add_map_command(CLI::App& app, int& status) {
  auto options = std::make_shared<MapCommand>();
  CLI::App* command = app.add_subcommand(
      "map", "A perf map (or jitdump) of a running process, for other tools, from outside");
  add_process_option(*command, options->process);
  command->add_option("PID", options->words, "Process, without -p")->expected(1);
  command->add_option("-o,--output", options->output,
                      "File; - is standard output (default /tmp/perf-PID.map; with --jitdump "
                      "jit-OWN_PID.dump)");
  CLI::Option* unfold = command->add_flag(
      "--unfold", options->unfold, "Ranges of inlined methods of their own: `inner in outer`");
  CLI::Option* all = command->add_flag("--unfold-all", options->unfold_all,
                                       "The whole chain: `outer->middle->inner`");
  CLI::Option* simple =
      command->add_flag("--unfold-simple", options->unfold_simple, "The innermost method alone");
  unfold->excludes(all)->excludes(simple);
  all->excludes(simple);
  CLI::Option* signature =
      command->add_flag("--msig", options->signature, "Methods with their parameters");
  CLI::Option* position = command->add_flag("--sourcepos", options->source_position,
                                            "File and line of the range behind each method");
  CLI::Option* dotted = command->add_flag("--dotted-class", options->dotted_class,
                                          "java.lang.String instead of Ljava/lang/String;");
  CLI::Option* clean = command->add_flag("--clean-class", options->clean_class,
                                         "java/lang/String instead of Ljava/lang/String;");
  CLI::Option* follow =
      command->add_flag("--follow", options->follow, "Keep it current until Ctrl-C");
  CLI::Option* jitdump = command->add_flag("--jitdump", options->jitdump,
                                           "A jitdump: with code, lines, unwind tables and times");
  command
      ->add_flag("--inlining", options->extended,
                 "With jitscope's own records too: what was inlined, what is gone")
      ->needs(jitdump);
  for (CLI::Option* each : {unfold, all, simple, signature, position, dotted, clean}) {
    jitdump->excludes(each);
  }
  add_duration_option(*command, options->duration, "End --follow after this time")->needs(follow);
  command->add_flag("--force", options->source.force,
                    "Read a perf map in spite of its owner, and replace a file of another user");
  command->callback([options, &status] {
    catch_interrupts();
    if (auto chosen = choose_process(options->process, options->words)) {
      options->pid = *chosen;
    } else {
      status = report_error(chosen.error());
      return;
    }
    const Result<int> result = options->jitdump ? write_dump(*options) : write_map(*options);
    status = result ? *result : report_error(result.error());
  });
}

}  // namespace jitscope
