#include "cli/habits.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace jitscope {
namespace {

struct Habit {
  std::string_view verb;  // "": of any
  std::string_view option;
  std::string_view instead;
};

constexpr std::string_view kFrequency = "samples are taken by time: -F HZ, here -F 999 by default";
constexpr std::string_view kOutput = "the file is named with -o FILE";
constexpr std::string_view kStacks =
    "stacks come by default, JIT code's by frame sizes where frame pointers are missing; "
    "--no-stacks leaves them out";
constexpr std::string_view kCpus = "all CPUs are recorded: -a, or -p PID on whichever it runs";
constexpr std::string_view kThreads = "all threads of a process are taken: -p PID";
constexpr std::string_view kTime = "each line begins with the time already";
constexpr std::string_view kExpose =
    "for bpftrace, perf probe and others `jitscope expose -p PID PATTERN` gives methods a symbol";
constexpr std::string_view kGlob = "patterns are globs, and between slashes regular expressions";
constexpr std::string_view kReturns =
    "returns are not probed: the return address of JIT code must not be changed";
constexpr std::string_view kEvery = "--every N shows each Nth call, --limit N/s so many a second";
constexpr std::string_view kDump =
    "records as they are: `perf script -D -i FILE`, which reads recordings of jitscope too";
constexpr std::string_view kHeader = "--header shows what the recording says about itself";
constexpr std::string_view kRoot = "--root DIR is where the recorded files lie";
constexpr std::string_view kKernel = "kernel code is named by /proc/kallsyms";
constexpr std::string_view kTrace = "hardware traces are not decoded: `perf script --itrace`";
constexpr std::string_view kStack = "--stack shows the callers";

constexpr std::array kHabits = {
    Habit{"trace", "-t", kTime},
    Habit{"trace", "-T", kTime},
    Habit{"trace", "--timestamp", kTime},
    Habit{"trace", "-k", kStack},
    Habit{"trace", "-K", kStack},
    Habit{"trace", "-U", kStack},
    Habit{"trace", "-s", kStack},
    Habit{"trace", "-g", kStack},
    Habit{"trace", "--call-graph", kStack},
    Habit{"trace", "-F", kEvery},
    Habit{"trace", "-i", "the counts come at the end: --count -d 1s, again for the next interval"},
    Habit{"trace", "-r", kGlob},
    Habit{"trace", "-e", kExpose},
    Habit{"trace", "-u", kReturns},
    Habit{"trace", "--latency", kReturns},
    Habit{"trace", "-o", "lines go to standard output: > FILE"},
    Habit{"trace", "-f", "children are not followed: -p CHILD"},
    Habit{"trace", "-l", "`jitscope methods -p PID PATTERN` lists what can be traced"},
    Habit{"trace", "-m", "--max N takes more methods, -n N ends after N calls"},
    Habit{"record", "-c", kFrequency},
    Habit{"record", "--count", kFrequency},
    Habit{"record", "-i", kFrequency},
    Habit{"record", "--interval", kFrequency},
    Habit{"record", "-f", kOutput},
    Habit{"record", "--file", kOutput},
    Habit{"record", "--call-graph", kStacks},
    Habit{"record", "-C", kCpus},
    Habit{"record", "--cpu", kCpus},
    Habit{"record", "-t", kThreads},
    Habit{"record", "--tid", kThreads},
    Habit{"record", "-k", "times are CLOCK_MONOTONIC's already"},
    Habit{"record", "--clockid", "times are CLOCK_MONOTONIC's already"},
    Habit{"record", "-u", "processes are named with -p PID,PID"},
    Habit{"record", "-n", "--no-stacks makes small records; there are none without samples"},
    Habit{"report", "--tui", "the table goes to standard output; `jitscope flame` has a page"},
    Habit{"report", "--gtk", "the table goes to standard output; `jitscope flame` has a page"},
    Habit{"report", "--hierarchy", "-s method,dso has several keys in a row; -g trees"},
    Habit{"report", "-G", "-g shows the callers below each row, --callees PATTERN what it calls"},
    Habit{"report", "-S", "--callers PATTERN and --callees PATTERN choose methods"},
    Habit{"report", "-F", "the columns are fixed; --json has all of them"},
    Habit{"report", "-p", "--pid PID shows one process; --callers PATTERN who calls a method"},
    Habit{"report", "-T", "-s thread has a row for each thread, -s cpu for each CPU"},
    Habit{"report", "-D", kDump},
    Habit{"report", "--dump-raw-trace", kDump},
    Habit{"report", "-I", kHeader},
    Habit{"report", "--show-info", kHeader},
    Habit{"report", "-t", "--json has values apart"},
    Habit{"report", "--field-separator", "--json has values apart"},
    Habit{"report", "-U", "frames without a name have rows by reason; -s dso sums up libraries"},
    Habit{"report", "--hide-unresolved", "frames without a name have rows by reason"},
    Habit{"report", "--symbols", "--callers PATTERN and --callees PATTERN choose methods"},
    Habit{"report", "--symbol-filter", "--callers PATTERN and --callees PATTERN choose methods"},
    Habit{"report", "--symfs", kRoot},
    Habit{"script", "--symfs", kRoot},
    Habit{"report", "-k", kKernel},
    Habit{"report", "--vmlinux", kKernel},
    Habit{"script", "-k", kKernel},
    Habit{"script", "--vmlinux", kKernel},
    Habit{"report", "--itrace", kTrace},
    Habit{"script", "--itrace", kTrace},
    Habit{"report", "--stats", kDump},
    Habit{"script", "-D", kDump},
    Habit{"script", "--dump-raw-trace", kDump},
    Habit{"script", "-I", kHeader},
    Habit{"script", "--show-info", kHeader},
    Habit{"script", "-d", "--dso FILES; `jitscope doctor` says what is wrong with a recording"},
    Habit{"script", "-S", "`jitscope report --callers PATTERN` chooses methods"},
    Habit{"script", "--symbols", "`jitscope report --callers PATTERN` chooses methods"},
    Habit{"script", "-g", "stacks come by default; `jitscope report -g` draws trees"},
    Habit{"script", "-s", "--json has one object a sample, for scripts of any language"},
    Habit{"script", "-a", "all samples are shown, whatever their CPU: -C CPUS takes some"},
    Habit{"script", "--ns", "--json has times in nanoseconds"},
    Habit{"script", "--reltime", "--json has times in nanoseconds"},
    Habit{"script", "--deltatime", "--json has times in nanoseconds"},
    Habit{"script", "--show-mmap-events", kDump},
    Habit{"script", "--show-task-events", kDump},
    Habit{"script", "--max-stack", "stacks are shown whole; `record` limits them"},
    Habit{"report", "--max-stack", "stacks are shown whole; `record` limits them"},
    Habit{"script", "-G",
          "stacks are printed when the recording has some; `jitscope report` sums up"},
    Habit{"flame", "--collapsed", "-o FILE.folded, or -o -.folded for standard output"},
    Habit{"flame", "--folded", "-o FILE.folded, or -o -.folded for standard output"},
    Habit{"flame", "--reverse", "the page itself turns the graph over"},
    Habit{"flame", "--inverted", "the page itself turns the graph over"},
    Habit{"flame", "--width", "the page is as wide as its window"},
    Habit{"flame", "-p", "`jitscope record -p PID -d 10s` comes first, then `jitscope flame`"},
    Habit{"flame", "-d", "`jitscope record -p PID -d 10s` comes first, then `jitscope flame`"},
    Habit{"methods", "-l", "that is what it does: `jitscope methods -p PID PATTERN`"},
    Habit{"methods", "-c", "`jitscope trace -c` counts calls"},
    Habit{"expose", "-e", "it prints the commands for bpftrace, perf and tracefs"},
    Habit{"expose", "-d", "it stays until Ctrl-C: `timeout 10 jitscope expose ...`, or --keep"},
    Habit{"ps", "-p", "`jitscope doctor -p PID` says what can be done with one process"},
    Habit{"", "-v", "what is worth saying is always said"},
    Habit{"", "--verbose", "what is worth saying is always said"},
    Habit{"", "-q", "messages go to standard error: 2>/dev/null"},
};

}  // namespace

std::string habit_hint(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  for (size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with('-')) continue;
    const std::string_view option = std::string_view(words[i]).substr(0, words[i].find('='));
    for (const Habit& habit : kHabits) {
      const bool verb = habit.verb.empty() || habit.verb == words.front();
      if (verb && habit.option == option) {
        return fmt::format("  {}: {}\n", habit.option, habit.instead);
      }
    }
  }
  return {};
}

}  // namespace jitscope
