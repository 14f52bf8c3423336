// jitscope ps: which processes run code that no ELF file backs, and what can be done with them.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/plural.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "process/process.h"
#include "render/fit_text.h"
#include "render/json.h"
#include "runtimes/detect.h"

namespace jitscope {
namespace {

struct PsOptions {
  bool json = false;
  bool all = false;
};

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024 * 1024) return fmt::format("{} KB", bytes / 1024);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1048576);
}

std::string source_text(const SourceFinding& source) {
  return source.usable
             ? std::string(to_string(source.kind))
             : fmt::format("(no {}: {})", to_string(source.kind), printable(source.detail));
}

// What can be done, and what only others may do, with the reason.
std::string probes_text(const ProcessFindings& findings) {
  if (!findings.not_probeable.empty()) return "no: " + printable(findings.not_probeable);
  std::vector<std::string> parts;
  if (!findings.backends.empty()) {
    parts.push_back(fmt::format("{}", fmt::join(findings.backends, ", ")));
  } else if (findings.exposable) {
    parts.emplace_back("for other tools only (expose)");
  }
  for (size_t i = 0; i < findings.withheld.size(); ++i) {
    std::string names = findings.withheld[i].backend;
    const std::string& reason = findings.withheld[i].reason;
    for (; i + 1 < findings.withheld.size() && findings.withheld[i + 1].reason == reason; ++i) {
      names += ", " + findings.withheld[i + 1].backend;
    }
    parts.push_back(fmt::format("not you: {} ({})", names, printable(reason)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string process_text(const Process& process, const ProcessFindings& findings) {
  std::vector<std::string> sources;
  for (const SourceFinding& source : findings.sources) sources.push_back(source_text(source));
  std::string runtime(runtime_name(findings));
  if (!findings.runtime.version.empty()) {
    runtime += " " + printable(findings.runtime.version);
  }
  std::string command = printable(process.command_line().substr(0, 200));
  if (const size_t width = terminal().width; width != 0) command = fit_text(command, width - 9);
  return fmt::format("{:>7}  {}\n         {}, {} of such code; sources: {}\n         probes: {}\n",
                     process.pid(), command, runtime, bytes_text(findings.jit_bytes),
                     sources.empty() ? "none" : fmt::format("{}", fmt::join(sources, ", ")),
                     probes_text(findings));
}

std::string process_json(const Process& process, const ProcessFindings& findings) {
  JsonObject line("process");
  line.number("pid", static_cast<uint64_t>(process.pid()))
      .text("command", process.command_line())
      .text("runtime", runtime_name(findings))
      .text("version", findings.runtime.version)
      .number("jit_bytes", findings.jit_bytes)
      .raw("sources", json_array(findings.sources,
                                 [](const SourceFinding& source) {
                                   JsonObject each("");
                                   each.text("kind", to_string(source.kind))
                                       .boolean("usable", source.usable)
                                       .text("detail", source.detail);
                                   return each.str();
                                 }))
      .raw("backends", json_array(findings.backends, json_string))
      .raw("withheld",
           json_array(findings.withheld,
                      [](const WithheldBackend& withheld) {
                        JsonObject each("");
                        each.text("backend", withheld.backend).text("reason", withheld.reason);
                        return each.str();
                      }))
      .boolean("exposable", findings.exposable)
      .text("not_probeable", findings.not_probeable);
  return line.str() + "\n";
}

int run_ps(const PsOptions& options) {
  size_t shown = 0;
  std::vector<std::string> hidden;
  for (const pid_t pid : list_processes()) {
    auto process = Process::open(pid);
    if (!process) continue;  // gone meanwhile
    auto findings = examine(*process);
    if (!findings) {
      if (findings.error().kind == ErrorKind::not_permitted) {
        hidden.push_back(std::to_string(pid));
      }
      continue;
    }
    if (findings->jit_mappings.empty()) continue;
    ++shown;
    if (!write_out(options.json ? process_json(*process, *findings)
                                : process_text(*process, *findings))) {
      break;
    }
  }
  if (!hidden.empty()) {
    constexpr size_t most = 5;
    const size_t count = hidden.size();
    if (count > most) {
      hidden.resize(most);
      hidden.emplace_back("...");
    }
    // To root the kernel hides only what runs with more rights, or in another user namespace.
    report_note(fmt::format("{} cannot be looked at ({}){}", plural(count, "process", "processes"),
                            fmt::join(hidden, ", "),
                            ::geteuid() == 0 ? ": the kernel does not permit it even to this root"
                                             : ": that needs root or CAP_SYS_PTRACE"));
  }
  if (shown == 0) {
    report_note("no process runs code that no ELF file backs");
    return 1;
  }
  return 0;
}

}  // namespace

void add_ps_command(CLI::App& app, int& status) {
  auto options = std::make_shared<PsOptions>();
  CLI::App* command = app.add_subcommand(
      "ps", "Processes with executable memory that no ELF file backs, and how they can be probed");
  command->add_flag("--json", options->json, "One JSON object a line");
  command->callback([options, &status] { status = status_with_output(run_ps(*options)); });
}

}  // namespace jitscope
