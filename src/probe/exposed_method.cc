// See exposed_method.h.
#include "probe/exposed_method.h"

#include <fmt/format.h>

#include <cctype>

#include "base/printable.h"
#include "perf_event/tracefs.h"

namespace jitscope {
namespace {

// A tracefs event name: letters, digits and '_', not longer than 63 characters (MAX_EVENT_NAME_LEN
// in kernel/trace/trace_probe.h). It ends with `suffix`.
std::string event_name(std::string_view symbol, std::string_view suffix = {}) {
  constexpr size_t most = 60;
  std::string name;
  for (const char c : symbol) {
    name += (std::isalnum(static_cast<unsigned char>(c)) != 0) ? c : '_';
  }
  if (name.size() > most - suffix.size()) name = name.substr(name.size() - (most - suffix.size()));
  name += suffix;
  if (!name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) != 0)
    name = "_" + name;
  return name;
}

std::string events_file() {
  const std::string mounted = tracefs_directory();
  return (mounted.empty() ? "/sys/kernel/tracing" : mounted) + "/uprobe_events";
}

// For a shell, where it has characters that mean something there.
std::string quoted(const std::string& path) {
  constexpr std::string_view plain = "/._-+=,:@%";
  for (const char c : path) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || plain.contains(c)) continue;
    std::string out = "'";
    for (const char each : path) out += each == '\'' ? std::string("'\\''") : std::string(1, each);
    return out + "'";
  }
  return path;
}

}  // namespace

void add_symbol_commands(ExposedMethod& method, pid_t pid) {
  const std::string event = event_name(method.symbol);
  method.bpftrace = fmt::format("bpftrace -e 'uprobe:{}:\"{}\" {{ @calls = count(); }}'",
                                method.file, method.symbol);
  if (!method.file.starts_with("/proc/")) {
    method.perf_probe = fmt::format("perf probe -x {} '{}={}'", method.file, event, method.symbol);
    method.perf_record = fmt::format("perf record -e 'probe_jitscope:{}' -p {}", event, pid);
  }
  method.tracefs = fmt::format("echo 'p:jitscope/{} {}:{:#x} this_or_arg1=%si arg2=%dx' >> {}",
                               event, method.file, method.offset, events_file());
}

void add_file_commands(ExposedMethod& method, std::string_view name, pid_t pid, bool elf,
                       bool windows) {
  // Methods of one name, and bodies of one method, lie at different places.
  const std::string event = event_name(name, fmt::format("_{:x}", method.offset));
  // uprobe_events takes no path with blanks (kernel/trace/trace_uprobe.c splits the line there),
  // and bpftrace none either; what is escaped when it is shown means no file.
  const bool shown_as_it_is = printable(method.file) == method.file;
  const bool plain = shown_as_it_is && method.file.find_first_of(" '\"\\:") == std::string::npos;
  if (plain) {
    // This machine's calling convention, or that of Windows.
    const std::string_view arguments =
        windows ? "arg1=%cx arg2=%dx arg3=%r8" : "arg1=%di arg2=%si arg3=%dx";
    method.tracefs = fmt::format("echo 'p:jitscope/{} {}:{:#x} {}' >> {}", event, method.file,
                                 method.offset, arguments, events_file());
    // It takes executable ELF files, with --unsafe also places of these that no symbol has.
    if (elf) {
      method.bpftrace =
          fmt::format("bpftrace --unsafe -e 'uprobe:{}:{:#x} /pid == {}/ {{ @calls = count(); }}'",
                      method.file, method.offset, pid);
    }
  }
  if (!method.file.starts_with("/proc/") && shown_as_it_is) {
    method.perf_probe = fmt::format("perf probe -x {} 'jitscope:{}={:#x}'", quoted(method.file),
                                    event, method.offset);
    method.perf_record = fmt::format("perf record -e 'jitscope:{}' -p {}", event, pid);
  }
}

}  // namespace jitscope
