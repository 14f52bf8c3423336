#include "cli/target.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/byte_cursor.h"
#include "base/duration.h"
#include "cli/command.h"
#include "cli/options.h"
#include "runtimes/process_names.h"

namespace jitscope {
namespace {

bool is_pid(const std::string& text) {
  const auto number = parse_decimal(text);
  return number && *number > 0 && *number <= INT32_MAX;
}

}  // namespace

CLI::Option* add_process_option(CLI::App& command, std::string& process, const std::string& about) {
  return command.add_option("-p,--pid", process, about);
}

CLI::Option* add_duration_option(CLI::App& command, double& seconds, const std::string& about) {
  return command.add_option("-d,--duration", seconds, about + " (10, 10s, 500ms, 2m)")
      ->transform([](const std::string& text) {
        const auto duration = parse_duration(text);
        // What is none stays as it is, and fails the check.
        return duration ? fmt::format("{}", *duration) : text;
      })
      ->check(check_seconds);
}

Result<pid_t> process_of(const std::string& text) {
  if (is_pid(text)) return static_cast<pid_t>(*parse_decimal(text));
  // A number that no process can have is no name that anybody means.
  if (text.empty() || text.find_first_not_of("-0123456789") == std::string::npos) {
    return fail(ErrorKind::usage, "-p wants a process", text, "its pid, or its name");
  }
  auto found = process_called(text);
  if (found) return *found;
  found.error().kind = ErrorKind::usage;
  return fail(std::move(found.error()));
}

Result<pid_t> choose_process(const std::string& process, std::vector<std::string>& words) {
  if (!process.empty()) return process_of(process);
  if (words.empty() || !is_pid(words.front())) {
    return fail(ErrorKind::usage, "which process?", {},
                "-p PID, or -p NAME; `jitscope ps` lists those that run JIT code");
  }
  JITSCOPE_ASSIGN(const pid_t pid, process_of(words.front()));
  words.erase(words.begin());
  return pid;
}

}  // namespace jitscope
