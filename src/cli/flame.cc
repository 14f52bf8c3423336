// jitscope flame: a recording, or folded stacks, as a flame graph page or in the form of another
// viewer. The extension of -o picks the form.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <map>

#include "base/output_file.h"
#include "base/unique_fd.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/profile_options.h"
#include "cli/progress.h"
#include "profile/collector.h"
#include "render/flame_page.h"
#include "render/folded.h"
#include "render/folded_sides.h"
#include "render/json.h"
#include "render/output_form.h"
#include "symbolize/elf_image.h"

namespace jitscope {
namespace {

struct FlameArguments {
  ProfileArguments profile;
  std::string output = "flame.html";
  std::string folded;             // read instead of a recording
  std::vector<std::string> diff;  // two of either
  std::string event;
  std::string title;
  bool per_thread = false;
};

// A file of this user's is replaced, with -f any other too.
Result<OutputFile> create_output(const FlameArguments& arguments) {
  return OutputFile::create(arguments.output,
                            arguments.profile.naming.force ? Replace::any : Replace::own);
}

Status write_file(const FlameArguments& arguments, std::string_view text) {
  JITSCOPE_ASSIGN(OutputFile file, create_output(arguments));
  JITSCOPE_TRY(file.write(text));
  return file.commit(usual_file_mode());
}

struct Loaded {
  Profile profile;
  uint64_t wall_start = 0;  // nanoseconds since 1970, 0 = not known
  std::map<std::string, std::string> build_ids;
  uint64_t left_out = 0;  // samples, by filters
};

Result<Loaded> load_folded(const std::string& path) {
  JITSCOPE_ASSIGN(auto source, open_byte_source(path));
  Diagnostics diagnostics;
  Loaded loaded;
  JITSCOPE_ASSIGN(loaded.profile, read_folded(*source, diagnostics));
  for (const Diagnostics::Entry& entry : diagnostics.entries()) {
    report_note(to_string(entry));
  }
  return loaded;
}

Result<Loaded> load_recording(const std::string& path, const ProfileArguments& arguments,
                              bool timeline) {
  JITSCOPE_ASSIGN(auto options, session_options(arguments));
  Progress progress("reading " + path);
  options.meter = &progress.meter();
  JITSCOPE_ASSIGN(const auto session, open_session(path, options));
  Collector collector(*session, {.timeline = timeline});
  JITSCOPE_TRY(session->run_by_code(collector));
  Loaded loaded;
  loaded.profile = collector.take();
  progress.end();
  if (const auto wall = session->facts().wall_time(loaded.profile.first_time)) {
    loaded.wall_start = static_cast<uint64_t>(*wall);
  }
  for (const auto& [file, id] : session->files().build_ids()) {
    loaded.build_ids[file] = build_id_text(id);
  }
  loaded.left_out = session->left_out();
  report_session(*session);
  return loaded;
}

bool is_folded(const std::string& path) {
  return path.ends_with(".folded") || path.ends_with(".txt");
}

bool is_recording(const std::string& path) {
  constexpr std::string_view magic = "PERFILE2";
  std::array<char, magic.size()> head{};
  struct stat status = {};
  // A pipe's first bytes would be gone.
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd && ::read(fd.get(), head.data(), head.size()) == static_cast<ssize_t>(head.size()) &&
         std::string_view(head.data(), head.size()) == magic;
}

Result<Loaded> load(const std::string& path, const ProfileArguments& arguments, bool timeline) {
  return is_folded(path) ? load_folded(path) : load_recording(path, arguments, timeline);
}

// One of the two of --diff.
Result<Profile> load_side(const std::string& path, const ProfileArguments& arguments) {
  JITSCOPE_ASSIGN(Loaded loaded, load(path, arguments, false));
  if (has_two_sides(loaded.profile)) {
    return fail(ErrorKind::usage, "has two counts in each line: it is a comparison already", path,
                "jitscope flame -o x.html FILE shows it");
  }
  return std::move(loaded.profile);
}

// Folded text has neither threads nor an event's name.
void make_alike(Profile& before, bool before_is_folded, Profile& after, bool after_is_folded) {
  if (before_is_folded != after_is_folded) {
    take_thread_names(before_is_folded ? before : after, before_is_folded ? after : before);
  }
  Profile& folded = after_is_folded ? after : before;
  const Profile& other = after_is_folded ? before : after;
  if ((before_is_folded || after_is_folded) && !other.events.empty()) {
    folded.events[0] = other.events[0];
  }
}

Status write_diff(const FlameArguments& arguments, const Profile& before, const Profile& after,
                  std::pair<std::string, std::string> names) {
  FlameDiffOptions options;
  options.title = arguments.title;
  options.before_name = std::move(names.first);
  options.after_name = std::move(names.second);
  return write_file(arguments, flame_diff_page(before, after, options));
}

// What a form shows: the samples of one event.
uint64_t samples_of(const Profile& profile, uint32_t event) {
  uint64_t samples = 0;
  for (const StackWeight& entry : profile.stacks) {
    if (entry.event == event) samples += entry.samples;
  }
  return samples;
}

Status write_form(const Loaded& loaded, const OutputForm& form, const FlameArguments& arguments,
                  uint32_t event) {
  const OutputInput input{.profile = loaded.profile,
                          .title = arguments.title,
                          .event = event,
                          .per_thread = arguments.per_thread,
                          .wall_clock_start = loaded.wall_start,
                          .build_ids = loaded.build_ids};
  if (arguments.output == "-.folded") {
    return form.write(input, [](std::string_view piece) {
      output().write_printable(piece);
      return Status();
    });
  }
  JITSCOPE_ASSIGN(OutputFile file, create_output(arguments));
  JITSCOPE_TRY(form.write(input, [&](std::string_view piece) { return file.write(piece); }));
  return file.commit(usual_file_mode());
}

Status make_flame(const FlameArguments& arguments, bool& empty) {
  JITSCOPE_ASSIGN(const OutputForm* form, output_form_of(arguments.output));
  if (!arguments.diff.empty()) {
    if (!form->compares) {
      return fail(ErrorKind::usage, "--diff gives a page: -o FILE.html", arguments.output);
    }
    JITSCOPE_ASSIGN(Profile before, load_side(arguments.diff[0], arguments.profile));
    JITSCOPE_ASSIGN(Profile after, load_side(arguments.diff[1], arguments.profile));
    make_alike(before, is_folded(arguments.diff[0]), after, is_folded(arguments.diff[1]));
    empty = before.samples == 0 && after.samples == 0;
    return write_diff(arguments, before, after, {arguments.diff[0], arguments.diff[1]});
  }
  const bool timeline = form->timeline;
  Result<Loaded> loaded = arguments.folded.empty()
                              ? load(arguments.profile.input, arguments.profile, timeline)
                          : is_recording(arguments.folded)
                              ? load_recording(arguments.folded, arguments.profile, timeline)
                              : load_folded(arguments.folded);
  if (!loaded) return fail(loaded.error());
  const Profile& profile = loaded->profile;
  if (form->compares && arguments.event.empty() && has_two_sides(profile)) {
    const auto [before, after] = split_sides(profile);
    empty = profile.samples == 0;
    return write_diff(arguments, before, after, {"before", "after"});
  }
  JITSCOPE_ASSIGN(const uint32_t event, event_number(profile, arguments.event));
  const uint64_t samples = samples_of(profile, event);
  empty = samples == 0;
  JITSCOPE_TRY(write_form(*loaded, *form, arguments, event));
  const bool several = event < profile.events.size() && profile.events.size() > 1;
  const std::string left_out =
      loaded->left_out == 0 ? "" : fmt::format(", {} left out by filters", loaded->left_out);
  report_note(fmt::format("{}: {} samples{}{}, {} lost", printable(arguments.output), samples,
                          several ? " of " + printable(profile.events[event].name) : "", left_out,
                          profile.lost));
  return {};
}

int run_flame(const FlameArguments& arguments) {
  prepare_signals(arguments.profile.input);
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
  add_filter_options(*command, arguments->profile.filter);
  add_pid_filter(*command, arguments->profile.filter);
  command
      ->add_option("-o,--output", arguments->output,
                   "x.html, x.folded (-.folded: standard output), x.pb.gz, x.speedscope.json, "
                   "x.firefox.json")
      ->capture_default_str();
  command->add_option("folded", arguments->folded,
                      "Folded stacks, or a recording, to read instead of -i");
  command->add_option("--diff", arguments->diff, "Two recordings or folded files: before, after")
      ->expected(2);
  command->add_option("--event", arguments->event, "The event to show, by name");
  command->add_option("--title", arguments->title, "The page's title");
  command->add_flag("--per-thread", arguments->per_thread, "Folded: comm-pid/tid as first frame");
  command->callback([arguments, &status] { status = run_flame(*arguments); });
}

}  // namespace jitscope
