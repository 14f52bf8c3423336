#include "cli/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace jitscope {
namespace {

constexpr std::string_view exit_status =
    "Exit status: 0 done, 1 nothing found or nothing named, 2 wrong usage, 3 not permitted or not\n"
    "possible here, 4 the target died.\n";

struct Examples {
  std::string_view command;
  std::array<Example, 3> examples;
};

constexpr auto table = std::to_array<Examples>({
    {"",
     {{{"Which processes have JIT'd code", "jitscope ps"},
       {"Where a running JVM spends its time",
        "jitscope record -p 4711 --duration 10 && jitscope report"},
       {"Every call of a method, with arguments",
        "jitscope trace -p 4711 java.util.HashMap.put"}}}},
    {"ps",
     {{{"All processes with JIT'd code", "jitscope ps"},
       {"The same, of other users too", "sudo jitscope ps"},
       {"The process ids of all JVMs",
        "jitscope ps --json | jq 'select(.runtime == \"hotspot\").pid'"}}}},
    {"methods",
     {{{"The compiled methods of a class", "jitscope methods -p 4711 'java.util.HashMap.*'"},
       {"Where a method was inlined",
        "jitscope methods -p 4711 --inlined-by java.util.HashMap.hash"},
       {"Lines and inlining of each stretch of a method's code",
        "jitscope methods -p 4711 --ranges com.shop.Order.total"}}}},
    {"trace",
     {{{"Every call, with arguments, until Ctrl-C", "jitscope trace -p 4711 java.util.HashMap.put"},
       {"Only how many, for ten seconds",
        "jitscope trace -p 4711 --count --duration 10 'com.shop.*.checkout'"},
       {"Five calls with their callers",
        "jitscope trace -p 4711 --stack --max-events 5 com.shop.Order.total"}}}},
    {"expose",
     {{{"A symbol for bpftrace and perf, until Ctrl-C",
        "jitscope expose -p 4711 com.shop.Order.total"},
       {"Leave it in place and return", "jitscope expose -p 4711 --keep 'com.shop.Order.*'"},
       {"Take back what a killed jitscope left", "jitscope expose --undo -p 4711"}}}},
    {"record",
     {{{"A running process, for ten seconds", "jitscope record -p 4711 --duration 10"},
       {"A command from its first instruction on",
        "jitscope record -o shop.data -- java -jar shop.jar"},
       {"The whole machine, until Ctrl-C", "jitscope record -a -F 99"}}}},
    {"script",
     {{{"All samples of perf.data", "jitscope script"},
       {"Folded by FlameGraph's own tool", "jitscope script -i shop.data | stackcollapse-perf.pl"},
       {"While perf records", "perf record -k mono -g -o - -p 4711 | jitscope script -i -"}}}},
    {"report",
     {{{"Methods, with self and total", "jitscope report"},
       {"Where the time goes by tier", "jitscope report -s process,tier --no-children"},
       {"Who calls a method", "jitscope report --callers '*HashMap.put*'"}}}},
    {"flame",
     {{{"A page of perf.data", "jitscope flame -o cpu.html"},
       {"What changed between two recordings",
        "jitscope flame --diff before.data after.data -o diff.html"},
       {"For pprof", "jitscope flame -i shop.data -o cpu.pb.gz"}}}},
    {"inject",
     {{{"For perf report", "jitscope inject -i perf.data -o named.data"},
       {"With sources, for perf annotate",
        "jitscope inject -i perf.data -o named.data --source src/main/java"},
       {"Over an earlier one", "jitscope inject -o named.data --overwrite"}}}},
    {"doctor",
     {{{"Why frames of perf.data have no name", "jitscope doctor"},
       {"Of a recording from another machine",
        "jitscope doctor -i old.data --root /mnt/container --jitdump dumps"},
       {"What names a live process", "jitscope doctor -p 4711"}}}},
    {"agent",
     {{{"A JVM with the agent from its start",
        "java -agentpath:$(jitscope agent path) -jar shop.jar"},
       {"Into a JVM that runs", "jitscope agent load -p 4711"},
       {"With the dump in another folder", "jitscope agent load -p 4711 --dir /var/tmp/dumps"}}}},
    {"map",
     {{{"/tmp/perf-4711.map with inlined methods",
        "jitscope map -p 4711 --unfold-all --dotted-class"},
       {"Kept current until Ctrl-C", "jitscope map -p 4711 --follow"},
       {"A jitdump with unwind tables, for perf inject --jit",
        "jitscope map -p 4711 --jitdump -o java.dump"}}}},
    {"image",
     {{{"An ELF file of a JVM's code, with lines of its sources",
        "jitscope image build -p 4711 -o java.elf --source src/main/java"},
       {"Where gdb and debuginfod look for it",
        "jitscope image install java.elf --debugdir /srv/debug"},
       {"Remove all that were installed", "jitscope image remove all --debugdir /srv/debug"}}}},
});

void add_footers(CLI::App& command, std::string_view path) {
  std::string text;
  const auto examples = examples_of(path);
  for (const Example& each : examples) {
    text +=
        fmt::format("{}  # {}\n  {}\n", text.empty() ? "Examples:\n" : "", each.about, each.line);
  }
  if (!text.empty()) text += '\n';
  text += exit_status;
  command.footer(text);
  for (CLI::App& each : command.commands()) {
    const std::string below = path.empty() ? each.name() : fmt::format("{} {}", path, each.name());
    // What a part of a command does is among the whole's examples.
    add_footers(each, examples_of(below).empty() ? path : std::string_view(below));
  }
}

}  // namespace

std::span<const Example> examples_of(std::string_view command) {
  const auto* found = std::ranges::find(table, command, &Examples::command);
  if (found == table.end()) return {};
  return found->examples;
}

void add_examples(CLI::App& app) {
  add_footers(app, "");
}

}  // namespace jitscope
