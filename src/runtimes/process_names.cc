// Names of processes; see process_names.h. A JVM's main class stands in its command line: what the
// launcher takes a value with is skipped, the first other word is it.
#include "runtimes/process_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "process/process.h"

namespace jitscope {
namespace {

std::string_view last_part(std::string_view text, char separator) {
  const size_t at = text.rfind(separator);
  return at == std::string_view::npos ? text : text.substr(at + 1);
}

bool takes_value(std::string_view option) {
  constexpr std::array<std::string_view, 16> options = {"-cp",
                                                        "-classpath",
                                                        "--class-path",
                                                        "-p",
                                                        "--module-path",
                                                        "--add-modules",
                                                        "--upgrade-module-path",
                                                        "--add-reads",
                                                        "--add-exports",
                                                        "--add-opens",
                                                        "--patch-module",
                                                        "--limit-modules",
                                                        "-d",
                                                        "--describe-module",
                                                        "--enable-native-access",
                                                        "--source"};
  return std::ranges::find(options, option) != options.end();
}

bool is_launcher(std::string_view executable) {
  return last_part(executable, '/') == "java";
}

struct Candidate {
  pid_t pid = 0;
  std::string command;
};

}  // namespace

std::string java_main(const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "-jar" || word == "-m" || word == "--module") {
      return i + 1 < words.size() ? words[i + 1] : std::string();
    }
    if (word.starts_with("--module=")) return word.substr(word.find('=') + 1);
    if (takes_value(word)) {
      ++i;
    } else if (!word.starts_with('-') && !word.starts_with('@')) {
      return word;
    }
  }
  return {};
}

bool is_java_main(std::string_view name, std::string_view main) {
  if (name.empty() || main.empty()) return false;
  if (name == main) return true;
  if (main.ends_with(".jar")) {
    const std::string_view file = last_part(main, '/');
    return name == file || name == file.substr(0, file.size() - 4);
  }
  const std::string_view type = last_part(main, '/');
  return name == type || name == last_part(type, '.');
}

Result<pid_t> process_called(std::string_view name) {
  std::vector<Candidate> found;
  for (const pid_t pid : list_processes()) {
    if (pid == ::getpid()) continue;
    const auto process = Process::open(pid);
    if (!process) continue;  // gone meanwhile, or not to be looked at
    std::vector<std::string> words = process->arguments();
    if (words.empty()) continue;  // the kernel's own, and what has ended
    const std::string executable = process->executable();
    bool is_it = process->status().name == name || last_part(executable, '/') == name;
    if (!is_it && (is_launcher(executable) || is_launcher(words.front()))) {
      words.erase(words.begin());
      is_it = is_java_main(name, java_main(words));
    }
    if (is_it) found.push_back({pid, process->command_line()});
  }
  if (found.empty()) {
    return fail(ErrorKind::not_found, fmt::format("no process is called '{}'", name), {},
                "by its comm, its executable, or a JVM's main class or jar; `jitscope ps` lists "
                "what runs JIT code");
  }
  if (found.size() == 1) return found.front().pid;
  constexpr size_t most = 8;
  constexpr size_t longest = 80;
  std::vector<std::string> shown;
  for (const Candidate& each : found) {
    if (shown.size() == most) break;
    shown.push_back(fmt::format("{} ({})", each.pid, each.command.substr(0, longest)));
  }
  return fail(ErrorKind::usage, fmt::format("{} processes are called '{}'", found.size(), name), {},
              fmt::format("choose one with -p PID: {}{}", fmt::join(shown, ", "),
                          found.size() > most ? ", ..." : ""));
}

}  // namespace jitscope
