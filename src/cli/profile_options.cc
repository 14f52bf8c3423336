#include "cli/profile_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/byte_cursor.h"
#include "cli/command.h"

namespace jitscope {

void add_profile_options(CLI::App& command, ProfileArguments& arguments) {
  command.add_option("-i,--input", arguments.input, "The recording; - is standard input")
      ->capture_default_str();
  command.add_option("--jitdump", arguments.naming.jitdumps,
                     "A jitdump, or a folder with some, besides those that the processes mapped");
  command.add_option("--perf-map", arguments.perf_maps, "PID=FILE: the perf map of a process");
  command.add_option("--map", arguments.naming.offline_maps,
                     "FILE=PATH[:base=file|rva|absolute]: symbols of a mapped file that is no ELF");
  command.add_option("--root", arguments.naming.root,
                     "The recorded processes' file system (a container's, a copy)");
  command.add_flag("--inline", arguments.naming.inlined, "Inlined functions of ELF files (DWARF)");
  command.add_flag("--lines", arguments.naming.lines, "Files and lines");
  command.add_flag("--no-demangle", arguments.no_demangle, "C++ and Rust names as they are");
  command.add_flag("--debuginfod", arguments.naming.debuginfod,
                   "Ask DEBUGINFOD_URLS for missing symbols");
  command.add_flag("-f,--force", arguments.naming.force,
                   "Believe maps and dumps of foreign owners, links and old ones");
}

Result<SessionOptions> session_options(const ProfileArguments& arguments) {
  SessionOptions options;
  options.naming = arguments.naming;
  options.naming.demangle = !arguments.no_demangle;
  while (options.naming.root.ends_with('/')) options.naming.root.pop_back();
  for (const std::string& text : arguments.perf_maps) {
    const size_t equals = text.find('=');
    const auto pid = parse_decimal(std::string_view(text).substr(0, equals));
    if (equals == std::string::npos || !pid || *pid > UINT32_MAX) {
      return fail(ErrorKind::usage, "--perf-map wants PID=FILE", text);
    }
    options.naming.perf_maps[static_cast<uint32_t>(*pid)] = text.substr(equals + 1);
  }
  return options;
}

void report_session(const Session& session) {
  for (const Diagnostics::Entry& entry : session.diagnostics().entries()) {
    report_note(fmt::format("{}x {} (first: {})", entry.count, entry.kind, entry.first));
  }
  for (const std::string& note : session.sources().notes) report_note(note);
  if (session.lost() != 0) {
    report_note(fmt::format("{} events were lost while recording", session.lost()));
  }
}

}  // namespace jitscope
