// jitscope record: samples of running programs into a perf.data file, and the names of their JIT
// code beside it.

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/plural.h"
#include "capture/recording.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/target.h"
#include "cli/version.h"
#include "render/json.h"

namespace jitscope {
namespace {

struct RecordCommand {
  std::vector<std::string> processes;
  RecordOptions options;
  std::string event = "auto";
  bool no_stacks = false;
  bool no_follow = false;
  bool stacks = true;
};

std::string size_text(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < (1U << 20U)) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

std::string percent_of(uint64_t part, uint64_t whole) {
  return fmt::format(
      "{:.2f} %",
      whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void announce(const RecordOptions& options, const RecordStart& start) {
  for (const std::string& note : start.notes) report_note("note: " + note);
  std::string target = "all CPUs";
  if (options.records_command()) {
    target = printable(options.command.front());
  } else if (!options.processes.empty()) {
    target = fmt::format("{} of {}", plural(start.threads, "thread"),
                         plural(options.processes.size(), "process", "processes"));
  }
  report_note(fmt::format("recording {} at {} Hz{} of {}, {}; Ctrl-C ends", start.event,
                          start.frequency,
                          start.reason.empty() ? "" : fmt::format(" ({})", start.reason), target,
                          start.kernel ? "user and kernel code" : "user code"));
}

void show_progress(const RecordProgress& progress) {
  fmt::print(stderr, "\r{:.0f} s, {}, {} lost, {}, {} followed \x1b[K",
             static_cast<double>(progress.elapsed_ns) / 1e9, plural(progress.samples, "sample"),
             progress.lost, size_text(progress.bytes),
             plural(progress.followed, "process", "processes"));
}

// Of code that nobody saw.
constexpr uint64_t kWorthTelling = 10'000'000;

void report_process(const FollowedSummary& process) {
  const std::string who = fmt::format("process {} ({})", process.pid, printable(process.name));
  if (!process.own_jitdump.empty()) {
    report_note(
        fmt::format("  {}: writes a jitdump itself: {}", who, printable(process.own_jitdump)));
    return;
  }
  if (!process.dump.empty()) {
    report_note(
        fmt::format("  {}: {} ({} gone), {}, from {}{}", who,
                    plural(process.bodies, "code body", "code bodies"), process.gone,
                    plural(process.looks, "look"), printable(process.source),
                    process.skipped == 0 ? "" : fmt::format("; {} skipped", process.skipped)));
    if (process.unseen_ns >= kWorthTelling) {
      report_note(
          fmt::format("    it ran for up to {:.0f} ms after the last look: what it compiled "
                      "in that time has no name",
                      static_cast<double>(process.unseen_ns) / 1e6));
    }
  }
  if (process.unread_bytes != 0) {
    report_note(
        fmt::format("  {}: {} of its perf map were not read: it is too large, or grows too fast; "
                    "what it tells there has no name in time",
                    who, size_text(process.unread_bytes)));
  }
  if (!process.reason.empty()) {
    report_note(fmt::format("  {}: {}", who, printable(process.reason)));
    if (!process.hint.empty()) report_note("    " + printable(process.hint));
  }
}

// One line for all: Wine starts half a dozen processes of its own beside each program.
void report_images(const std::vector<FollowedSummary>& processes) {
  std::map<std::string, std::vector<const FollowedSummary*>> by_host;
  for (const FollowedSummary& each : processes) {
    if (!each.in_images.empty()) by_host[each.in_images].push_back(&each);
  }
  for (const auto& [host, all] : by_host) {
    const FollowedSummary& first = *all.front();
    report_note(fmt::format(
        "  process {} ({}){}: of {}; the images that are mapped name the code when the recording "
        "is read",
        first.pid, printable(first.name),
        all.size() == 1 ? "" : fmt::format(" and {} more", all.size() - 1), host));
  }
}

std::string ending_of(int status, bool told) {
  if (told && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) {
    return "the command still ran, and was ended (SIGTERM)";
  }
  if (WIFEXITED(status)) {
    const int code = WEXITSTATUS(status);
    return code == 0 ? std::string() : fmt::format("the command ended with status {}", code);
  }
  return WIFSIGNALED(status) ? fmt::format("the command was ended by signal {}", WTERMSIG(status))
                             : std::string();
}

void report(const RecordResult& result) {
  for (const std::string& note : result.notes) report_note("note: " + note);
  if (result.command_status) {
    const std::string ending = ending_of(*result.command_status, result.command_told);
    if (!ending.empty()) report_note("note: " + ending);
  }
  report_note(fmt::format("{} in {:.1f} s, {}, {} in {}", plural(result.samples, "sample"),
                          static_cast<double>(result.elapsed_ns) / 1e9,
                          result.lost == 0 ? "none lost"
                                           : fmt::format("{} lost (a lower -F loses fewer)",
                                                         plural(result.lost, "record")),
                          size_text(result.bytes), printable(result.output)));
  if (result.samples == 0) {
    report_note("note: only what runs on a CPU is sampled, not what sleeps or waits");
  }
  const FollowReport& follow = result.follow;
  if (!result.folder.empty()) {
    report_note(fmt::format("names of JIT code in {}", printable(result.folder)));
  }
  for (const FollowedSummary& process : follow.processes) report_process(process);
  report_images(follow.processes);
  if (follow.not_followed != 0) {
    report_note(fmt::format("  {} more with JIT code were not followed",
                            plural(follow.not_followed, "process", "processes")));
  }
  report_note(fmt::format(
      "cost: recording {} of a CPU, following {} ({}; {:.0f} ms for first "
      "looks)",
      percent_of(result.cpu_ns, result.elapsed_ns), percent_of(follow.cpu_ns, result.elapsed_ns),
      plural(follow.looks, "look"), static_cast<double>(follow.first_cpu_ns) / 1e6));
}

SampleEvent event_of(const std::string& text) {
  if (text == "cycles") return SampleEvent::cycles;
  if (text == "cpu-clock") return SampleEvent::cpu_clock;
  return SampleEvent::automatic;
}

std::vector<std::string> own_command_line() {
  std::vector<std::string> words;
  std::string text(1U << 16U, '\0');
  // As the kernel has it: CLI11 keeps no copy of the words.
  std::FILE* file = std::fopen("/proc/self/cmdline", "re");
  if (file == nullptr) return words;
  text.resize(std::fread(text.data(), 1, text.size(), file));
  (void)std::fclose(file);
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

Result<int> run(RecordCommand& command) {
  RecordOptions& options = command.options;
  for (const std::string& each : command.processes) {
    JITSCOPE_ASSIGN(const pid_t pid, process_of(each));
    options.processes.push_back(pid);
  }
  // A number alone is no command.
  if (options.processes.empty() && !options.system && options.command.size() == 1) {
    if (const auto pid = choose_process({}, options.command)) options.processes.push_back(*pid);
  }
  options.sampler.event = event_of(command.event);
  options.sampler.stacks = !command.no_stacks;
  options.follow = !command.no_follow;
  options.command_line = own_command_line();
  options.version = version_text();
  std::ranges::sort(options.processes);
  const auto repeated = std::ranges::unique(options.processes);
  options.processes.erase(repeated.begin(), repeated.end());
  options.stop = [] { return interrupts() != 0; };
  options.on_start = [&](const RecordStart& start) { announce(options, start); };
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  if (terminal) options.on_progress = show_progress;
  auto result = record(options);
  if (terminal) fmt::print(stderr, "\r\x1b[K");
  if (!result) return fail(std::move(result.error()));
  report(*result);
  return 0;
}

}  // namespace

void add_record_command(CLI::App& app, int& status) {
  auto options = std::make_shared<RecordCommand>();
  CLI::App* command =
      app.add_subcommand("record", "Samples of running programs, with the names of their JIT code");
  command
      ->add_option("-p,--pid", options->processes, "Processes, by pid or name, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("-a,--all-cpus", options->options.system, "The whole machine");
  command->add_option("COMMAND", options->options.command,
                      "After --: record this command; with -p or -a record while it runs");
  command
      ->add_option("-F,--freq", options->options.sampler.frequency,
                   "Samples a second on each CPU (default 999)")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("-o,--output", options->options.output, "File (default perf.data)");
  add_duration_option(*command, options->options.seconds, "End after this time");
  command->add_option("-e,--event", options->event, "cycles, cpu-clock (default: cycles if any)")
      ->check(CLI::IsMember({"auto", "cycles", "cpu-clock"}));
  CLI::Option* stacks = command->add_flag("-g", options->stacks, "With stacks, as by default");
  command->add_flag("--no-stacks", options->no_stacks, "Without stacks")->excludes(stacks);
  command->add_flag("--user-regs", options->options.sampler.user_registers,
                    "With the registers of user code");
  command->add_flag("--no-follow", options->no_follow, "Do not look for names of JIT code");
  command->add_flag("--force", options->options.force,
                    "Read perf maps in spite of their owner, age or being a link");
  command->callback([options, &status] {
    catch_interrupts();
    const Result<int> result = run(*options);
    status = result ? *result : report_error(result.error());
  });
}

}  // namespace jitscope
