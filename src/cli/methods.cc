// jitscope methods: the live code bodies of a process.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "probe/methods.h"
#include "process/process.h"
#include "render/json.h"
#include "runtimes/code_source.h"

namespace jitscope {
namespace {

struct MethodsOptions {
  pid_t pid = 0;
  std::vector<std::string> patterns;
  bool json = false;
  bool stubs = false;
  SourceOptions source;
};

std::string body_json(const CodeBody& body) {
  JsonObject line("body");
  line.text("method", body.name->display())
      .text("raw", body.name->raw)
      .address("address", body.address)
      .number("size", body.size)
      .address("entry", body.entry)
      .text("tier", to_string(body.tier))
      .text("state", to_string(body.state))
      .boolean("osr", body.osr)
      .text("source", to_string(body.source));
  return line.str() + "\n";
}

std::string body_text(const CodeBody& body) {
  return fmt::format("{:>14x} {:>7} {:>14x} {:<10} {:<11} {:<3} {}\n", body.address, body.size,
                     body.entry, to_string(body.tier), to_string(body.state),
                     body.osr ? "osr" : "-", printable(body.name->display()));
}

Status list_methods(const MethodsOptions& options) {
  JITSCOPE_ASSIGN(const auto patterns, parse_patterns(options.patterns));
  JITSCOPE_ASSIGN(const Process process, Process::open(options.pid));
  JITSCOPE_ASSIGN(const auto source, open_code_source(process, options.source));
  JITSCOPE_ASSIGN(const Snapshot snapshot, source->read());
  JITSCOPE_ASSIGN(const auto bodies, select_bodies(snapshot, patterns));
  if (!options.json) {
    report_note(
        fmt::format("# {} ({})", process.command_line().substr(0, 120), source->describe()));
    if (!source->caveat().empty()) report_note("# " + source->caveat());
    write_out(fmt::format("{:>14} {:>7} {:>14} {:<10} {:<11} {:<3} {}\n", "ADDRESS", "SIZE",
                          "ENTRY", "TIER", "STATE", "OSR", "METHOD"));
  }
  std::string out;
  for (const CodeBody* body : bodies) {
    // Stubs and adapters are no methods: shown when a pattern or --stubs asks for them.
    if (body->tier == Tier::stub && !options.stubs && options.patterns.empty()) continue;
    out += options.json ? body_json(*body) : body_text(*body);
    if (out.size() > (1U << 20U)) {
      if (!write_out(out)) return {};
      out.clear();
    }
  }
  write_out(out);
  if (snapshot.torn != 0) {
    report_note(
        fmt::format("# {} bodies changed while they were read and are not shown", snapshot.torn));
  }
  for (const Diagnostics::Entry& entry : source->diagnostics().entries()) {
    report_note(fmt::format("# {} x {}{}", entry.count, entry.kind,
                            entry.first.empty() ? "" : " (first: " + entry.first + ")"));
  }
  return {};
}

}  // namespace

void add_methods_command(CLI::App& app, int& status) {
  auto options = std::make_shared<MethodsOptions>();
  CLI::App* command = app.add_subcommand("methods", "The live code bodies of a process");
  command->add_option("-p,--pid", options->pid, "Process")->required();
  command->add_option("PATTERN", options->patterns, "Methods, e.g. 'java.util.HashMap.*'");
  command->add_flag("--json", options->json, "One JSON object a line");
  command->add_flag("--stubs", options->stubs, "Runtime stubs and adapters too");
  command->add_flag("--force", options->source.force,
                    "Read a perf map in spite of its owner, age or being a link");
  command->add_option("--map", options->source.map_path, "Read this perf map");
  command->callback([options, &status] {
    const Status result = list_methods(*options);
    status = result ? status_with_output(0) : report_error(result.error());
  });
}

}  // namespace jitscope
