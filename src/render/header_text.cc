#include "render/header_text.h"

#include <fmt/format.h>

#include <iterator>

#include "base/printable.h"

namespace jitscope {
namespace {

// perf shows microseconds.
std::string seconds(uint64_t nanoseconds) {
  constexpr uint64_t second = 1'000'000'000;
  return fmt::format("{}.{:06}", nanoseconds / second, nanoseconds % second / 1000);
}

void append_event(std::string& out, const perfdata::EventInfo& event) {
  fmt::format_to(std::back_inserter(out),
                 "# event : name = {}, type = {}, config = {:#x}, {} = {}, sample_type = {:#x}",
                 printable(event.name), event.type, event.config,
                 event.frequency ? "sample_freq" : "sample_period", event.sample_period,
                 event.sample_type);
  if (event.use_clockid) out += fmt::format(", clockid = {}", event.clockid);
  out += '\n';
}

}  // namespace

std::string recording_header_text(const perfdata::Header& header, std::string_view captured) {
  std::string out = "# ========\n";
  const auto line = [&](std::string_view name, std::string_view text) {
    if (!text.empty()) out += fmt::format("# {} : {}\n", name, printable(text));
  };
  line("captured on   ", captured);
  line("hostname", header.hostname);
  line("os release", header.os_release);
  line("perf version", header.version);
  line("arch", header.arch);
  if (header.cpus_available != 0) {
    line("nrcpus online", std::to_string(header.cpus_online));
    line("nrcpus avail", std::to_string(header.cpus_available));
  }
  line("cpudesc", header.cpu_description);
  line("cpuid", header.cpu_id);
  if (header.total_memory != 0) line("total memory", fmt::format("{} kB", header.total_memory));
  std::string command;
  for (const std::string& word : header.command_line) command += word + ' ';
  line("cmdline", command);
  for (const perfdata::EventInfo& event : header.events) append_event(out, event);
  if (header.first_sample_time && header.last_sample_time &&
      *header.first_sample_time <= *header.last_sample_time) {
    constexpr double millisecond = 1e6;
    const uint64_t span = *header.last_sample_time - *header.first_sample_time;
    line("time of first sample", seconds(*header.first_sample_time));
    line("time of last sample", seconds(*header.last_sample_time));
    line("sample duration", fmt::format("{:10.3f} ms", static_cast<double>(span) / millisecond));
  }
  return out + "# ========\n#\n";
}

}  // namespace jitscope
