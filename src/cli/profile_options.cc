#include "cli/profile_options.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/byte_cursor.h"
#include "cli/command.h"
#include "cli/options.h"
#include "doctor/doctor.h"
#include "naming/trace_folder.h"
#include "render/json.h"
#include "symbolize/debug_files.h"

namespace jitscope {

namespace {

void add_cores_option(CLI::App& command, ProfileArguments& arguments) {
  constexpr int most = 1024;
  command.add_option("-j,--jobs", arguments.cores, "At most so many cores at work (default: all)")
      ->check(CLI::Range(1, most));
}

}  // namespace

CLI::Option* add_profile_options(CLI::App& command, ProfileArguments& arguments) {
  CLI::Option* input =
      command.add_option("-i,--input", arguments.input, "The recording; - is standard input")
          ->capture_default_str();
  // One value each time: a recording may stand behind it.
  command
      .add_option("--jitdump", arguments.naming.jitdumps,
                  "A jitdump, or a folder with some, besides those that the processes mapped")
      ->allow_extra_args(false);
  command.add_option("--perf-map", arguments.perf_maps, "PID=FILE: the perf map of a process")
      ->allow_extra_args(false);
  command
      .add_option("--map", arguments.naming.offline_maps,
                  "FILE=PATH[:base=file|rva|absolute]: symbols of a mapped file that is no ELF; or "
                  "a folder's maps")
      ->allow_extra_args(false);
  command.add_option("--root", arguments.naming.root,
                     "The recorded processes' file system (a container's, a copy)");
  CLI::Option* inlined = command.add_flag("--inline", arguments.naming.inlined,
                                          "Inlined functions of ELF files too (DWARF)");
  command.add_flag("--no-inline", arguments.no_inline, "No inlined functions, JIT code's neither")
      ->excludes(inlined);
  command.add_flag("--lines", arguments.naming.lines, "Files and lines");
  command.add_flag("--no-demangle", arguments.no_demangle, "C++ and Rust names as they are");
  command.add_flag("--debuginfod", arguments.naming.debuginfod,
                   "Ask DEBUGINFOD_URLS for missing symbols");
  command.add_flag("-f,--force", arguments.naming.force,
                   "Believe maps and dumps of foreign owners, links and old ones");
  add_cores_option(command, arguments);
  return input;
}

CLI::Option* add_recording_word(CLI::App& command, ProfileArguments& arguments,
                                CLI::Option* input) {
  return command.add_option("RECORDING", arguments.input, "The recording, without -i")
      ->excludes(input);
}

void prepare_signals(const std::string& input) {
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;  // writing tells
  ::sigaction(SIGPIPE, &action, nullptr);
  struct stat status = {};
  const bool there =
      input == "-" ? ::fstat(STDIN_FILENO, &status) == 0 : ::stat(input.c_str(), &status) == 0;
  if (!there || (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode))) return;
  action.sa_handler = [](int /*signal*/) {};
  // Reset: the second one ends this process too.
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
}

namespace {

// What the user named must be there; what recordings name need not.
Status check_given(std::string_view what, const std::string& path, bool folder) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    return fail(system_error(fmt::format("{} cannot be used", what), path));
  }
  if (folder && !S_ISDIR(status.st_mode)) {
    return fail(ErrorKind::usage, fmt::format("{} wants a directory", what), path);
  }
  return {};
}

}  // namespace

Result<SessionOptions> session_options(const ProfileArguments& arguments) {
  SessionOptions options;
  JITSCOPE_ASSIGN(options.filter, filter_options(arguments.filter));
  options.naming = arguments.naming;
  options.cores = arguments.cores;
  options.naming.demangle = !arguments.no_demangle;
  options.naming.jit_inlined = !arguments.no_inline;
  if (!options.naming.root.empty()) JITSCOPE_TRY(check_given("--root", options.naming.root, true));
  if (options.naming.debuginfod && !debuginfod_available()) {
    return fail(ErrorKind::not_possible, "--debuginfod: the library libdebuginfod.so.1 is not here",
                {}, "install it (Debian: libdebuginfod1)");
  }
  while (options.naming.root.ends_with('/')) options.naming.root.pop_back();
  for (const std::string& path : options.naming.jitdumps) {
    JITSCOPE_TRY(check_given("--jitdump", path, false));
  }
  std::vector<std::string> folders;
  std::erase_if(options.naming.offline_maps, [&](const std::string& text) {
    std::error_code error;
    if (text.contains('=') || !std::filesystem::is_directory(text, error)) return false;
    folders.push_back(text);
    return true;
  });
  for (const std::string& text : arguments.perf_maps) {
    const size_t equals = text.find('=');
    const auto pid = parse_decimal(std::string_view(text).substr(0, equals));
    if (equals == std::string::npos || !pid || *pid > UINT32_MAX) {
      return fail(ErrorKind::usage, "--perf-map wants PID=FILE", text);
    }
    std::string path = text.substr(equals + 1);
    JITSCOPE_TRY(check_given("--perf-map", path, false));
    options.naming.perf_maps[static_cast<uint32_t>(*pid)] = std::move(path);
  }
  for (const std::string& folder : folders) {
    JITSCOPE_TRY(add_trace_folder(folder, options.naming));
  }
  return options;
}

Error explain_open(const std::string& path, Error error) {
  if (error.kind == ErrorKind::not_found && error.hint.empty()) {
    error.hint = "record one with `jitscope record` or `perf record`, or name it: -i FILE";
  }
  if (error.kind == ErrorKind::not_permitted && error.hint.empty()) {
    error.hint = "a recording is for its owner alone: read it as that user, or chown it";
  }
  struct stat status = {};
  if (::stat((path + "/data").c_str(), &status) == 0) {
    error.hint = "what `perf record --threads` writes is not read: record without it";
  }
  return error;
}

Result<std::unique_ptr<Session>> open_session(const std::string& path,
                                              const SessionOptions& options) {
  auto session = Session::open(path, options);
  if (!session) return fail(explain_open(path, std::move(session.error())));
  return session;
}

Result<uint32_t> event_number(const Profile& profile, const std::string& name) {
  if (name.empty()) return 0;
  std::string names;
  for (uint32_t i = 0; i < profile.events.size(); ++i) {
    if (profile.events[i].name == name) return i;
    names += (i == 0 ? "" : ", ") + profile.events[i].name;
  }
  return fail(ErrorKind::not_found, "the recording has no such event", name, "it has: " + names);
}

std::string no_samples_text(const Session& session) {
  if (session.left_out() == 0) return std::string(kNoSamples);
  constexpr double second = 1e9;
  return fmt::format(
      "the filters took none of the {} samples, which are from {:.6f} to {:.6f}: "
      "`jitscope report -s comm,tid,cpu` without filters shows whose they are",
      session.left_out(), static_cast<double>(session.first_time()) / second,
      static_cast<double>(session.last_time()) / second);
}

void report_session(const Session& session) {
  if (session.samples() == 0) report_note(no_samples_text(session));
  if (const std::string unread = unread_stacks(session.header()); !unread.empty()) {
    report_note(unread);
  }
  for (const Diagnostics::Entry& entry : session.diagnostics().entries()) {
    report_note(to_string(entry));
  }
  for (const std::string& note : session.sources().notes) report_note(note);
  for (const std::string& text : session.files().left_out())
    report_note("note: " + printable(text));
  if (session.lost() != 0) {
    report_note(fmt::format("{} events were lost while recording", session.lost()));
  }
}

}  // namespace jitscope
