#include "cli/complete_values.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <set>
#include <string_view>

#include "base/byte_cursor.h"
#include "process/process.h"
#include "runtimes/detect.h"
#include "runtimes/open_source.h"
#include "session/session.h"

namespace jitscope {
namespace {

// More are shown up to their next dot, as folders are before their files.
constexpr size_t most_whole_names = 60;
constexpr size_t most_candidates = 500;
constexpr size_t longest_name = 400;
constexpr size_t longest_about = 60;

// The shells quote what they put into the command line; still, what would run as a command there is
// never offered: names come from the target.
bool harmless(std::string_view name) {
  constexpr std::string_view refused = "'\"`\\();&|<>!*?[]{}~^";
  return !name.empty() && name.size() <= longest_name && name.front() != '-' &&
         std::ranges::all_of(name, [&](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte > 0x20 && byte < 0x7f && !refused.contains(c);
         });
}

// "a,b,c": what is begun is the last of them.
std::string before_last_comma(const std::string& text) {
  const size_t comma = text.rfind(',');
  return comma == std::string::npos ? std::string() : text.substr(0, comma + 1);
}

Completions pids(const std::string& begun, bool several) {
  Completions found;
  const std::string before = several ? before_last_comma(begun) : "";
  for (const pid_t pid : list_processes()) {
    std::string text = before + std::to_string(pid);
    if (!text.starts_with(begun)) continue;
    const auto process = Process::open(pid);
    if (!process) continue;
    const auto findings = examine(*process);
    if (!findings || findings->jit_mappings.empty()) continue;
    found.candidates.push_back({std::move(text), process->command_line().substr(0, longest_about)});
  }
  return found;
}

std::set<std::string> names_of_methods(const CompletionContext& context, std::string_view begun) {
  std::set<std::string> names;
  const auto pid = parse_decimal(context.pid);
  if (!pid || *pid > std::numeric_limits<pid_t>::max()) return names;
  const auto process = Process::open(static_cast<pid_t>(*pid));
  if (!process) return names;
  SourceOptions options;
  options.map_path = context.map;
  // A key that was pressed asks a JVM for nothing.
  options.allow_attach = false;
  const auto source = open_code_source(*process, options);
  if (!source) return names;
  const auto snapshot = (*source)->read();
  if (!snapshot) return names;
  for (const CodeBody& body : snapshot->bodies) {
    if (body.tier == Tier::stub) continue;
    // JavaScript functions by their bare name, as patterns have it.
    std::string name = body.name->location.empty() ? body.name->short_name() : body.name->function;
    if (name.starts_with(begun) && harmless(name)) names.insert(std::move(name));
  }
  return names;
}

Completions methods(const CompletionContext& context, const std::string& begun) {
  std::set<std::string> names = names_of_methods(context, begun);
  if (names.size() > most_whole_names) {
    std::set<std::string> parts;
    for (const std::string& name : names) {
      const size_t dot = name.find('.', begun.size());
      parts.insert(dot == std::string::npos ? name : name.substr(0, dot + 1));
    }
    names = std::move(parts);
  }
  Completions found;
  for (const std::string& name : names) {
    if (found.candidates.size() == most_candidates) break;
    found.candidates.push_back({name, ""});
  }
  return found;
}

Completions events(const CompletionContext& context, const std::string& begun) {
  Completions found;
  // A pipe would be waited for.
  struct stat status = {};
  if (::stat(context.recording.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return found;
  const auto session = Session::open(context.recording, {});
  if (!session) return found;
  for (const auto& event : (*session)->header().events) {
    if (event.name.starts_with(begun) && harmless(event.name)) {
      found.candidates.push_back({event.name, ""});
    }
  }
  return found;
}

Completions words(const std::string& begun, std::initializer_list<const char*> all) {
  Completions found;
  const std::string before = before_last_comma(begun);
  for (const char* word : all) {
    std::string text = before + word;
    if (text.starts_with(begun)) found.candidates.push_back({std::move(text), ""});
  }
  return found;
}

Completions row_keys(const std::string& begun) {
  return words(begun,
               {"method", "dso", "comm", "process", "thread", "cpu", "tier", "source", "srcline"});
}

Completions fields(const std::string& begun) {
  return words(begun, {"comm", "pid", "tid", "cpu", "time", "period", "event", "trace", "ip", "sym",
                       "symoff", "dso", "srcline"});
}

}  // namespace

Completions complete_value(const CLI::Option::About& option, const CompletionContext& context,
                           const std::string& begun) {
  Completions found;
  for (const std::string& choice : option.choices) {
    if (choice.starts_with(begun)) found.candidates.push_back({choice, ""});
  }
  if (!option.choices.empty()) return found;
  switch (option.value.kind) {
    case ValueKind::pid:
      return pids(begun, option.several);
    case ValueKind::method:
      return methods(context, begun);
    case ValueKind::event:
      return events(context, begun);
    case ValueKind::row_key:
      return row_keys(begun);
    case ValueKind::field:
      return fields(begun);
    case ValueKind::recording_or_pid:
      found = pids(begun, false);
      if (found.candidates.empty()) found.by_shell = ":file";
      break;
    case ValueKind::file:
      found.by_shell = ":file";
      break;
    case ValueKind::folder:
      found.by_shell = ":folder";
      break;
    case ValueKind::command:
      found.by_shell = ":command";
      break;
    case ValueKind::other:
      break;
  }
  return found;
}

}  // namespace jitscope
