// jitscope agent: the JVMTI agent, loaded into a running JVM; and where its file is.

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/target.h"
#include "process/process.h"
#include "render/json.h"
#include "runtimes/hotspot/agent_loader.h"

namespace jitscope {
namespace {

struct LoadOptions {
  std::string process;
  std::vector<std::string> words;  // the pid without -p
  pid_t pid = 0;
  std::string directory;
  std::string library;
};

Result<std::string> absolute(const std::string& path) {
  std::error_code problem;
  std::string result = std::filesystem::absolute(path, problem).lexically_normal();
  if (problem) return fail(system_error("cannot read the current folder", path, problem.value()));
  return result;
}

Status load(const LoadOptions& options) {
  JITSCOPE_ASSIGN(const Process process, Process::open(options.pid));
  AgentRequest request;
  if (options.library.empty()) {
    JITSCOPE_ASSIGN(request.library, find_agent_library());
  } else {
    JITSCOPE_ASSIGN(request.library, absolute(options.library));
  }
  request.directory = options.directory;
  if (!request.directory.empty() && !request.directory.starts_with('/')) {
    if (process.other_mount_namespace()) {
      return fail(ErrorKind::usage, "--dir must be an absolute path of the JVM's own files",
                  request.directory, "it sees other files than this program");
    }
    JITSCOPE_ASSIGN(request.directory, absolute(request.directory));
  }
  JITSCOPE_ASSIGN(const AgentLoad done, load_agent(process, request));
  const std::string dump = printable(done.dump.empty() ? "(its path is not mapped)" : done.dump);
  if (done.already) {
    report_note(
        fmt::format("process {} writes a jitdump already; nothing was loaded", process.pid()));
  } else if (done.copied) {
    report_note("the agent was copied into the JVM's /tmp to be loaded, and removed again");
  }
  if (done.dump.empty()) {
    report_note(
        "the dump's folder is mounted noexec: perf will not find it by itself; name it to "
        "jitscope with --jitdump, or another folder with --dir");
  }
  write_out(dump + "\n");
  return {};
}

int run(const Status& status) {
  return status ? 0 : report_error(status.error());
}

Status print_path() {
  JITSCOPE_ASSIGN(const std::string path, find_agent_library());
  write_out(printable(path) + "\n");
  return {};
}

}  // namespace

void add_agent_command(CLI::App& app, int& status) {
  CLI::App* command = app.add_subcommand(
      "agent",
      "The JVMTI agent, which writes a jitdump from inside a JVM: every load, with inlining");
  command->require_subcommand(1);

  auto options = std::make_shared<LoadOptions>();
  CLI::App* loading = command->add_subcommand(
      "load", "Load it into a running JVM; prints the path of the dump, as the JVM sees it");
  add_process_option(*loading, options->process, "The JVM, by pid or name");
  loading->add_option("PID", options->words, "The JVM, without -p")->expected(1);
  loading->add_option(
      "--dir", options->directory,
      "Folder of the dump, as the JVM sees it; default $JITDUMPDIR of the JVM, else "
      "/tmp/jitscope-UID");
  loading->add_option("--agent", options->library, "The agent's file; default: `agent path`");
  loading->callback([options, &status] {
    if (auto chosen = choose_process(options->process, options->words)) {
      options->pid = *chosen;
    } else {
      status = report_error(chosen.error());
      return;
    }
    status = status_with_output(run(load(*options)));
  });

  CLI::App* path = command->add_subcommand("path", "Print the agent's file, for -agentpath:");
  path->callback([&status] { status = status_with_output(run(print_path())); });
}

}  // namespace jitscope
