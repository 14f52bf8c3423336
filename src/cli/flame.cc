// jitscope flame: a recording, or folded stacks, as a flame graph page or in the form of another
// viewer. The extension of -o picks the form.

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/unique_fd.h"
#include "cli/command.h"
#include "cli/profile_options.h"
#include "profile/collector.h"
#include "render/firefox_profile.h"
#include "render/flame_page.h"
#include "render/folded.h"
#include "render/pprof.h"
#include "render/speedscope.h"

namespace jitscope {
namespace {

enum class Form : uint8_t { page, folded, pprof, speedscope, firefox };

struct FlameArguments {
  ProfileArguments profile;
  std::string output = "flame.html";
  std::string folded;             // read instead of a recording
  std::vector<std::string> diff;  // two of either
  std::string event;
  std::string title;
  bool per_thread = false;
};

Result<Form> form_of(const std::string& path) {
  constexpr std::pair<std::string_view, Form> forms[] = {
      {".html", Form::page},           {".folded", Form::folded},
      {".txt", Form::folded},          {".pb.gz", Form::pprof},
      {".pprof", Form::pprof},         {".speedscope.json", Form::speedscope},
      {".firefox.json", Form::firefox}};
  for (const auto& [ending, form] : forms) {
    if (path.ends_with(ending)) return form;
  }
  return fail(ErrorKind::usage, "the extension of -o says no form", path,
              ".html, .folded, .pb.gz, .speedscope.json or .firefox.json");
}

Status write_file(const std::string& path, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd) return fail(system_error("cannot be written", path));
  while (!text.empty()) {
    const ssize_t written = ::write(fd.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(system_error("writing failed", path));
    text.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

struct Loaded {
  Profile profile;
  uint64_t wall_start = 0;  // nanoseconds since 1970, 0 = not known
};

Result<Loaded> load_folded(const std::string& path) {
  JITSCOPE_ASSIGN(auto source, open_byte_source(path));
  Diagnostics diagnostics;
  Loaded loaded;
  JITSCOPE_ASSIGN(loaded.profile, read_folded(*source, diagnostics, {.first_is_comm = true}));
  for (const Diagnostics::Entry& entry : diagnostics.entries()) {
    report_note(fmt::format("{}x {} (first: {})", entry.count, entry.kind, entry.first));
  }
  return loaded;
}

Result<Loaded> load_recording(const std::string& path, const ProfileArguments& arguments,
                              bool timeline) {
  JITSCOPE_ASSIGN(const auto options, session_options(arguments));
  JITSCOPE_ASSIGN(const auto session, Session::open(path, options));
  Collector collector(*session, {.timeline = timeline});
  JITSCOPE_TRY(session->run(collector));
  Loaded loaded;
  loaded.profile = collector.take();
  if (const auto wall = session->facts().wall_time(loaded.profile.first_time)) {
    loaded.wall_start = static_cast<uint64_t>(*wall);
  }
  report_session(*session);
  return loaded;
}

bool is_folded(const std::string& path) {
  return path.ends_with(".folded") || path.ends_with(".txt");
}

Result<Loaded> load(const std::string& path, const ProfileArguments& arguments, bool timeline) {
  return is_folded(path) ? load_folded(path) : load_recording(path, arguments, timeline);
}

Result<uint32_t> event_of(const Profile& profile, const std::string& name) {
  if (name.empty()) return 0;
  for (uint32_t i = 0; i < profile.events.size(); ++i) {
    if (profile.events[i].name == name) return i;
  }
  return fail(ErrorKind::not_found, "no such event", name);
}

// Folded stacks of a large recording go out in pieces.
Status write_folded_file(const Profile& profile, const FlameArguments& arguments, uint32_t event) {
  FoldedOptions options;
  options.event = event;
  options.per_thread = arguments.per_thread;
  if (arguments.output == "-.folded") {
    write_folded(profile, options, [](std::string_view piece) { write_out(piece); });
    return {};
  }
  const UniqueFd fd(
      ::open(arguments.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd) return fail(system_error("cannot be written", arguments.output));
  Status status;
  write_folded(profile, options, [&](std::string_view piece) {
    while (status && !piece.empty()) {
      const ssize_t written = ::write(fd.get(), piece.data(), piece.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        status = fail(system_error("writing failed", arguments.output));
        break;
      }
      piece.remove_prefix(static_cast<size_t>(written));
    }
  });
  return status;
}

Status write_form(const Loaded& loaded, Form form, const FlameArguments& arguments) {
  const Profile& profile = loaded.profile;
  JITSCOPE_ASSIGN(const uint32_t event, event_of(profile, arguments.event));
  switch (form) {
    case Form::page: {
      FlameOptions options;
      options.title = arguments.title;
      options.event = event;
      return write_file(arguments.output, flame_page(profile, options));
    }
    case Form::folded:
      return write_folded_file(profile, arguments, event);
    case Form::pprof: {
      JITSCOPE_ASSIGN(const std::string text,
                      pprof_profile(profile, {.wall_clock_start = loaded.wall_start}));
      return write_file(arguments.output, text);
    }
    case Form::speedscope:
      return write_file(arguments.output, speedscope_json(profile, {.name = arguments.title}));
    case Form::firefox:
      return write_file(arguments.output,
                        firefox_profile(profile, {.wall_clock_start = loaded.wall_start}));
  }
  return {};
}

Status make_flame(const FlameArguments& arguments, bool& empty) {
  JITSCOPE_ASSIGN(const Form form, form_of(arguments.output));
  if (!arguments.diff.empty()) {
    if (form != Form::page) {
      return fail(ErrorKind::usage, "--diff gives a page: -o FILE.html", arguments.output);
    }
    JITSCOPE_ASSIGN(const Loaded before, load(arguments.diff[0], arguments.profile, false));
    JITSCOPE_ASSIGN(const Loaded after, load(arguments.diff[1], arguments.profile, false));
    FlameDiffOptions options;
    options.title = arguments.title;
    options.before_name = arguments.diff[0];
    options.after_name = arguments.diff[1];
    empty = before.profile.samples == 0 && after.profile.samples == 0;
    return write_file(arguments.output, flame_diff_page(before.profile, after.profile, options));
  }
  const bool timeline = form == Form::speedscope || form == Form::firefox;
  Result<Loaded> loaded = arguments.folded.empty()
                              ? load(arguments.profile.input, arguments.profile, timeline)
                              : load_folded(arguments.folded);
  if (!loaded) return fail(loaded.error());
  empty = loaded->profile.samples == 0;
  JITSCOPE_TRY(write_form(*loaded, form, arguments));
  report_note(fmt::format("{}: {} samples, {} lost", arguments.output, loaded->profile.samples,
                          loaded->profile.lost));
  return {};
}

int run_flame(const FlameArguments& arguments) {
  bool empty = false;
  const Status status = make_flame(arguments, empty);
  if (!status) return report_error(status.error());
  return status_with_output(empty ? 1 : 0);
}

}  // namespace

void add_flame_command(CLI::App& app, int& status) {
  CLI::App* command =
      app.add_subcommand("flame",
                         "Write a flame graph page, or folded stacks, pprof, speedscope "
                         "or Firefox Profiler files");
  auto arguments = std::make_shared<FlameArguments>();
  add_profile_options(*command, arguments->profile);
  command
      ->add_option("-o,--output", arguments->output,
                   "x.html, x.folded (-.folded: standard output), x.pb.gz, x.speedscope.json, "
                   "x.firefox.json")
      ->capture_default_str();
  command->add_option("folded", arguments->folded, "Folded stacks to read instead of a recording");
  command->add_option("--diff", arguments->diff, "Two recordings or folded files: before, after")
      ->expected(2);
  command->add_option("--event", arguments->event, "The event to show, by name");
  command->add_option("--title", arguments->title, "The page's title");
  command->add_flag("--per-thread", arguments->per_thread, "Folded: comm-pid/tid as first frame");
  command->callback([arguments, &status] { status = run_flame(*arguments); });
}

}  // namespace jitscope
