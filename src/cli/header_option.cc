#include "cli/header_option.h"

#include <sys/stat.h>

#include <array>
#include <ctime>
#include <string>

#include "cli/command.h"
#include "cli/options.h"
#include "render/header_text.h"
#include "session/session.h"

namespace jitscope {
namespace {

// As ctime() has it, of the file's last change.
std::string captured_on(const std::string& path) {
  struct stat status = {};
  struct tm parts = {};
  if (::stat(path.c_str(), &status) != 0 || ::localtime_r(&status.st_mtime, &parts) == nullptr) {
    return {};
  }
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%a %b %e %H:%M:%S %Y", &parts)};
}

}  // namespace

void add_header_options(CLI::App& command, HeaderArguments& arguments, CLI::Option* json) {
  command
      .add_flag("--header", arguments.header,
                "First what the recording says about itself: machine, command, events, times")
      ->excludes(json);
  command.add_flag("--header-only", arguments.only, "Nothing else")->excludes(json);
}

Status print_header(const Session& session, const HeaderArguments& arguments) {
  if (!arguments.header && !arguments.only) return {};
  if (session.header().pipe) {
    return fail(ErrorKind::not_possible, "--header: a recording of a pipe tells it between samples",
                session.facts().path(), "without --header, or record into a file");
  }
  write_out(recording_header_text(session.header(), captured_on(session.facts().path())));
  return {};
}

}  // namespace jitscope
