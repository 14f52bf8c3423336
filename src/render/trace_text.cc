#include "render/trace_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "base/clock.h"
#include "base/plural.h"
#include "render/fit_text.h"
#include "render/json.h"

namespace jitscope {
namespace {

// Wall-clock time of a monotonic time, by the distance of the two clocks now (users read log files
// beside it).
std::string time_of_day(uint64_t time_ns) {
  static const int64_t distance = [] {
    timespec wall = {};
    ::clock_gettime(CLOCK_REALTIME, &wall);
    return static_cast<int64_t>(wall.tv_sec) * 1'000'000'000 + wall.tv_nsec -
           static_cast<int64_t>(monotonic_ns());
  }();
  static std::time_t last_second = 0;
  static std::string last_text;
  const int64_t wall = static_cast<int64_t>(time_ns) + distance;
  const std::time_t second = wall / 1'000'000'000;
  if (second != last_second || last_text.empty()) {
    last_second = second;
    last_text = fmt::format("{:%H:%M:%S}", fmt::localtime(second));
  }
  return fmt::format("{}.{:06}", last_text, (wall % 1'000'000'000) / 1000);
}

// A UTF-16 unit as UTF-8; halves of surrogate pairs as U+FFFD.
std::string utf16_unit(uint32_t unit) {
  std::string text;
  if (unit >= 0xd800 && unit <= 0xdfff) unit = 0xfffd;
  if (unit < 0x80) {
    text += static_cast<char>(unit);
  } else if (unit < 0x800) {
    text += static_cast<char>(0xc0U | unit >> 6U);
    text += static_cast<char>(0x80U | (unit & 0x3fU));
  } else {
    text += static_cast<char>(0xe0U | unit >> 12U);
    text += static_cast<char>(0x80U | (unit >> 6U & 0x3fU));
    text += static_cast<char>(0x80U | (unit & 0x3fU));
  }
  return text;
}

void append_value_text(std::string& out, const ArgumentValue& value) {
  switch (value.kind) {
    case ArgumentValue::Kind::unknown:
      fmt::format_to(std::back_inserter(out), "{} ?", printable(value.type));
      break;
    case ArgumentValue::Kind::integer:
      fmt::format_to(std::back_inserter(out), "{}", value.integer);
      break;
    case ArgumentValue::Kind::boolean:
      out += value.integer != 0 ? "true" : "false";
      break;
    case ArgumentValue::Kind::character:
      fmt::format_to(std::back_inserter(out), "'{}'",
                     printable(utf16_unit(static_cast<uint32_t>(value.integer))));
      break;
    case ArgumentValue::Kind::address:
      if (value.address == 0) {
        fmt::format_to(std::back_inserter(out), "{} null", printable(value.type));
      } else {
        fmt::format_to(std::back_inserter(out), "{} {:#x}", printable(value.type), value.address);
      }
      break;
  }
}

void append_value_json(std::string& out, const ArgumentValue& value) {
  out += "{\"type\":";
  append_json_string(out, value.type);
  out += ",\"value\":";
  switch (value.kind) {
    case ArgumentValue::Kind::unknown:
      out += "null";
      break;
    case ArgumentValue::Kind::integer:
      fmt::format_to(std::back_inserter(out), "{}", value.integer);
      break;
    case ArgumentValue::Kind::boolean:
      out += value.integer != 0 ? "true" : "false";
      break;
    case ArgumentValue::Kind::character:
      append_json_string(out, utf16_unit(static_cast<uint32_t>(value.integer)));
      break;
    case ArgumentValue::Kind::address:
      fmt::format_to(std::back_inserter(out), "\"{:#x}\"", value.address);
      break;
  }
  out += '}';
}

double microseconds(std::chrono::nanoseconds duration) {
  return static_cast<double>(duration.count()) / 1000;
}

std::string coverage_json(const MethodReport& method) {
  std::vector<const SiteReport*> refused;
  for (const SiteReport& site : method.sites) {
    if (!site.placed) refused.push_back(&site);
  }
  JsonObject coverage("");
  coverage.number("bodies_alive", method.bodies_alive)
      .number("bodies_probed", method.bodies_probed)
      .number("unseen_ns", method.unseen_ns)
      .boolean("interpreted_only", method.interpreted_only)
      .number("redispatched", method.redispatched)
      .number("stale", method.stale)
      .raw("not_seen", json_array(method.not_seen, json_string))
      .raw("refused", json_array(refused, [](const SiteReport* site) {
             JsonObject each("");
             each.address("address", site->address).text("reason", site->reason);
             return each.str();
           }));
  return coverage.str();
}

// Calls that a new body may have had before it was found.
std::string unseen_text(const SiteReport& site) {
  if (site.unseen_ns == 0) return {};
  return fmt::format("; unseen for up to {} before",
                     duration_text(std::chrono::nanoseconds(site.unseen_ns)));
}

std::string unseen_total(const MethodReport& method) {
  if (method.unseen_ns == 0) return {};
  return fmt::format(", new ones unseen for up to {} in all",
                     duration_text(std::chrono::nanoseconds(method.unseen_ns)));
}

// What --limit, --every and --max-events left out.
uint64_t not_shown(const MethodReport& method) {
  return method.calls - std::min(method.calls, method.shown + method.lost);
}

std::string not_shown_text(const TraceReport& report, const MethodReport& method) {
  const uint64_t left_out = not_shown(method);
  if (report.counted_only || left_out == 0) return {};
  return fmt::format(", {} shown, {} not", method.shown, left_out);
}

std::string until_text(const SiteReport& site) {
  if (site.until_ns == 0) return {};
  return fmt::format(", then {}", site.reason.empty() ? "freed or replaced" : site.reason);
}

void append_sites_text(std::string& out, const MethodReport& method) {
  const uint64_t now = monotonic_ns();
  for (const SiteReport& site : method.sites) {
    if (!site.placed) continue;
    fmt::format_to(std::back_inserter(out), "    {:#x}  {:<11} {:<10} {} calls, watched {}{}{}\n",
                   site.address, to_string(site.tier), site.backend, site.counts.calls,
                   duration_text(std::chrono::nanoseconds(
                       (site.until_ns != 0 ? site.until_ns : now) - site.since_ns)),
                   until_text(site), unseen_text(site));
  }
  std::map<std::string, uint64_t> refused;
  for (const SiteReport& site : method.sites) {
    if (!site.placed) ++refused[site.reason];
  }
  for (const auto& [reason, count] : refused) {
    fmt::format_to(std::back_inserter(out), "    {} not probed: {}\n",
                   plural(count, "body", "bodies"), printable(reason));
  }
}

}  // namespace

std::string duration_text(std::chrono::nanoseconds duration) {
  const double us = microseconds(duration);
  if (us < 1000) return fmt::format("{:.0f} us", us);
  if (us < 1e6) return fmt::format("{:.1f} ms", us / 1e3);
  return fmt::format("{:.1f} s", us / 1e6);
}

void append_call_text(std::string& out, const CallLine& line) {
  fmt::format_to(std::back_inserter(out), "{} {}/{} {}(", time_of_day(line.time_ns), line.pid,
                 line.tid, printable(line.short_name));
  bool first = true;
  for (const ArgumentValue& value : line.arguments) {
    if (!first) out += ", ";
    first = false;
    append_value_text(out, value);
  }
  out += ")\n";
  if (line.stack == nullptr) return;
  for (const StackFrame& frame : line.stack->frames) {
    if (frame.name.empty()) {
      fmt::format_to(std::back_inserter(out), "        {:x} [unknown: {}] ({})\n", frame.address,
                     printable(frame.reason), printable(frame.module));
    } else {
      fmt::format_to(std::back_inserter(out), "        {:x} {} ({})\n", frame.address,
                     printable(frame.name), printable(frame.module));
    }
  }
  if (line.stack->end != "complete") {
    fmt::format_to(std::back_inserter(out), "        [{}]\n", printable(line.stack->end));
  }
}

void append_call_json(std::string& out, const CallLine& line) {
  fmt::format_to(std::back_inserter(out),
                 R"({{"type":"call","time_ns":{},"pid":{},"tid":{},"method":)", line.time_ns,
                 line.pid, line.tid);
  append_json_string(out, line.method);
  out += ",\"args\":[";
  bool first = true;
  for (const ArgumentValue& value : line.arguments) {
    if (!first) out += ',';
    first = false;
    append_value_json(out, value);
  }
  out += ']';
  if (line.stack != nullptr) {
    out += ",\"stack\":";
    out += json_array(line.stack->frames, [](const StackFrame& frame) {
      JsonObject each("");
      each.address("address", frame.address);
      if (frame.name.empty()) {
        each.raw("name", "null").text("reason", frame.reason);
      } else {
        each.text("name", frame.name);
      }
      each.text("module", frame.module);
      return each.str();
    });
    out += ",\"stack_end\":";
    append_json_string(out, line.stack->end);
  } else {
    out += ",\"stack\":[]";
  }
  out += "}\n";
}

std::string backends_text(const TraceStart& start) {
  if (start.sites_by.empty()) return fmt::format(" by {}", start.backend);
  if (start.sites_by.size() == 1) {
    return fmt::format(" by {}", start.sites_by.front().first);
  }
  std::string out;
  for (const auto& [backend, sites] : start.sites_by) {
    fmt::format_to(std::back_inserter(out), "{}{} by {}", out.empty() ? ": " : ", ", sites,
                   backend);
  }
  return out;
}

std::string started_json(const TraceStart& start) {
  JsonObject sites_by("");
  for (const auto& [backend, sites] : start.sites_by) sites_by.number(backend, sites);
  JsonObject line("started");
  line.number("methods", start.methods)
      .number("bodies", start.bodies)
      .number("sites", start.sites)
      .text("backend", start.backend)
      .raw("sites_by", sites_by.str())
      .raw("stopped_us", fmt::format("{:.1f}", microseconds(start.stopped)))
      .raw("notes", json_array(start.notes, json_string));
  return line.str() + "\n";
}

std::string summary_text(const TraceReport& report, size_t width) {
  constexpr size_t least_name = 16;
  std::string out;
  for (const MethodReport& method : report.methods) {
    const std::string counts = fmt::format(": {}, lost {}{}", plural(method.calls, "call", "calls"),
                                           method.lost, not_shown_text(report, method));
    const std::string name = printable(method.method);
    out += width == 0
               ? name
               : fit_name(name, std::max(least_name, width - std::min(width, counts.size())));
    out += counts + "\n";
    append_sites_text(out, method);
    if (method.bodies_alive == 0) {
      fmt::format_to(
          std::back_inserter(out), "    no compiled body at the end{}\n",
          method.interpreted_only ? ": the method is interpreted only (or inlined)" : "");
    } else {
      fmt::format_to(std::back_inserter(out), "    coverage: {} of {} compiled bodies probed{}\n",
                     method.bodies_probed, method.bodies_alive, unseen_total(method));
    }
    if (method.redispatched != 0) {
      fmt::format_to(std::back_inserter(out),
                     "    {} arrived at a replaced body and are counted where they went on\n",
                     plural(method.redispatched, "call", "calls"));
    }
    if (method.stale != 0) {
      fmt::format_to(std::back_inserter(out),
                     "    {} another body at the same address: not counted\n",
                     plural(method.stale, "hit met", "hits met"));
    }
  }
  std::vector<std::string> not_seen;
  for (const MethodReport& method : report.methods) {
    for (const std::string& each : method.not_seen) {
      if (std::ranges::find(not_seen, each) == not_seen.end()) not_seen.push_back(each);
    }
  }
  if (!not_seen.empty()) out += fmt::format("not seen: {}\n", fmt::join(not_seen, ", "));
  for (const std::string& note : report.notes) {
    out += fmt::format("note: {}\n", printable(note));
  }
  fmt::format_to(std::back_inserter(out), "stopped {} in all, {} at most at a time\n",
                 duration_text(report.stopped), duration_text(report.longest_stop));
  return out;
}

std::string summary_json(const TraceReport& report) {
  std::string out;
  for (const MethodReport& method : report.methods) {
    std::vector<const SiteReport*> placed;
    for (const SiteReport& site : method.sites) {
      if (site.placed) placed.push_back(&site);
    }
    JsonObject line("summary");
    line.text("method", method.method)
        .number("calls", method.calls)
        .number("shown", method.shown)
        .number("not_shown", not_shown(method))
        .number("lost", method.lost)
        .number("since_ns", method.since_ns)
        .raw("stopped_us", fmt::format("{:.1f}", microseconds(report.stopped)))
        .number("looks", report.looks)
        .raw("sites", json_array(placed,
                                 [](const SiteReport* site) {
                                   JsonObject each("");
                                   each.address("address", site->address)
                                       .text("tier", to_string(site->tier))
                                       .text("backend", site->backend)
                                       .number("calls", site->counts.calls)
                                       .number("since_ns", site->since_ns)
                                       .number("until_ns", site->until_ns)
                                       .number("unseen_ns", site->unseen_ns);
                                   return each.str();
                                 }))
        .raw("coverage", coverage_json(method));
    out += line.str() + "\n";
  }
  return out;
}

}  // namespace jitscope
