#include "render/script_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/printable.h"
#include "naming/frame_name.h"
#include "render/script_text.h"

namespace jitscope {
namespace {

using enum ScriptField;

constexpr std::array<std::string_view, 13> kNames = {"comm",   "pid",   "tid",    "cpu", "time",
                                                     "period", "event", "trace",  "ip",  "sym",
                                                     "symoff", "dso",   "srcline"};
constexpr uint32_t kTracepoint = 2;  // PERF_TYPE_TRACEPOINT
constexpr uint64_t kSampleCallchain = 1U << 5U;

constexpr uint32_t bit(ScriptField field) {
  return 1U << static_cast<unsigned>(field);
}
constexpr uint32_t kUsual = bit(comm) | bit(tid) | bit(cpu) | bit(time) | bit(event) | bit(ip) |
                            bit(sym) | bit(symoff) | bit(dso);

// What samples must have for a field (PERF_SAMPLE_*).
constexpr std::array<std::pair<ScriptField, uint64_t>, 6> kNeeds = {{{pid, 1U << 1U},
                                                                     {tid, 1U << 1U},
                                                                     {time, 1U << 2U},
                                                                     {cpu, 1U << 7U},
                                                                     {period, 1U << 8U},
                                                                     {ip, 1U << 0U}}};

Result<ScriptField> field_of(std::string_view word) {
  const auto* const found = std::ranges::find(kNames, word);
  if (found != kNames.end()) return static_cast<ScriptField>(found - kNames.begin());
  return fail(ErrorKind::usage, "-F: no such field", std::string(word),
              word.contains(':') ? "fields are those of all events: without hw:, sw: or trace:"
                                 : fmt::format("fields are {}; --json has all that is known",
                                               fmt::join(kNames, ",")));
}

}  // namespace

Result<ScriptFields> ScriptFields::parse(std::string_view text) {
  ScriptFields fields;
  const bool changes = text.starts_with('+') || text.starts_with('-');
  if (changes) {
    fields.of_others_ = kUsual | bit(period);
    fields.of_tracepoints_ = kUsual | bit(trace);
  }
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (word.empty()) continue;
    const char sign = word.front();
    const bool changed = sign == '+' || sign == '-';
    if (changed != changes) {
      return fail(ErrorKind::usage, "-F: either fields, or changes with + and -", std::string(word),
                  "as in -F comm,ip,sym or -F +srcline,-dso");
    }
    if (changed) word.remove_prefix(1);
    JITSCOPE_ASSIGN(const ScriptField field, field_of(word));
    const uint32_t mask = bit(field);
    const bool wanted = sign != '-';
    fields.named_ = wanted ? fields.named_ | mask : fields.named_ & ~mask;
    fields.of_others_ = wanted ? fields.of_others_ | mask : fields.of_others_ & ~mask;
    fields.of_tracepoints_ =
        wanted ? fields.of_tracepoints_ | mask : fields.of_tracepoints_ & ~mask;
  }
  if ((fields.of_others_ | fields.of_tracepoints_) == 0 && !changes) {
    return fail(ErrorKind::usage, "-F wants fields", {},
                fmt::format("fields are {}", fmt::join(kNames, ",")));
  }
  if (fields.has(symoff) && !fields.has(sym)) {
    if ((fields.named_ & bit(symoff)) != 0) {
      return fail(ErrorKind::usage, "-F: symoff stands behind sym, which is not there", {},
                  "-F ip,sym,symoff");
    }
    fields.of_others_ &= ~bit(symoff);
    fields.of_tracepoints_ &= ~bit(symoff);
  }
  for (const ScriptField field : {sym, dso, srcline}) {
    if ((fields.named_ & bit(field)) != 0 && !fields.has(ip)) {
      return fail(
          ErrorKind::usage,
          fmt::format("-F: {} is of frames, which ip shows", kNames[static_cast<size_t>(field)]),
          {}, "-F ip,sym,dso");
    }
  }
  return fields;
}

Status ScriptFields::check(const perfdata::Header& header) const {
  if (of_others_ == bit(trace) && !header.events.empty() &&
      std::ranges::none_of(header.events, [](const perfdata::EventInfo& event) {
        return event.type == kTracepoint;
      })) {
    return fail(ErrorKind::not_possible, "-F: trace is of tracepoints, and the recording has none",
                {}, "-F +trace shows it beside the others");
  }
  for (const perfdata::EventInfo& event : header.events) {
    for (const auto& [field, needed] : kNeeds) {
      if ((named_ & bit(field)) == 0 || (event.sample_type & needed) != 0) continue;
      const std::string_view name = kNames[static_cast<size_t>(field)];
      return fail(ErrorKind::not_possible,
                  fmt::format("-F: samples of {} have no {}", printable(event.name), name), {},
                  field == cpu ? "record with `jitscope record`, `perf record -a` or "
                                 "`perf record --sample-cpu`"
                               : fmt::format("leave {} out", name));
    }
  }
  return {};
}

void FieldsText::append_event(const perfdata::Sample& sample) {
  const auto& events = session_.header().events;
  if (event_width_ == 0) {
    for (const perfdata::EventInfo& each : events) {
      event_width_ = std::max(event_width_, each.name.size());
    }
  }
  const std::string_view name =
      sample.event < events.size() ? std::string_view(events[sample.event].name) : "[unknown]";
  out_.append(event_width_ - std::min(event_width_, name.size()), ' ');
  append_printable(out_, name);
  out_ += ": ";
}

// "" of what samples do not have: by default it is left out.
void FieldsText::append_head(const ResolvedSample& resolved, bool tracepoint, bool stack) {
  const perfdata::Sample& sample = resolved.sample;
  const auto shows = [&](ScriptField field) { return fields_.has(field, tracepoint); };
  const auto to = std::back_inserter(out_);
  // Who has no number any more is -1.
  const auto id = [](uint32_t number) { return static_cast<int32_t>(number); };
  if (shows(comm)) {
    std::string name;
    append_comm(name, resolved.thread.comm);
    fmt::format_to(to, "{:>{}} ", name, stack ? 0 : 16);
  }
  if (shows(pid) && shows(tid)) {
    fmt::format_to(to, "{:5}/{:<5} ", id(sample.head.pid), id(sample.head.tid));
  } else if (shows(pid)) {
    fmt::format_to(to, "{:5} ", id(sample.head.pid));
  } else if (shows(tid)) {
    fmt::format_to(to, "{:5} ", id(sample.head.tid));
  }
  if (shows(cpu) && sample.head.cpu != UINT32_MAX) {
    fmt::format_to(to, "[{:03}] ", sample.head.cpu);
  }
  if (shows(time) && sample.head.has_time) {
    constexpr uint64_t second = 1'000'000'000;
    fmt::format_to(to, "{:5}.{:06}: ", sample.head.time / second, sample.head.time % second / 1000);
  }
  const auto& events = session_.header().events;
  constexpr uint64_t sample_period = 1U << 8U;
  if (shows(period) &&
      (sample.event >= events.size() || (events[sample.event].sample_type & sample_period) != 0)) {
    fmt::format_to(to, "{:10} ", sample.period);
  }
  if (shows(event)) append_event(sample);
  if (shows(trace) && !sample.raw.empty()) payloads_.append_text(out_, sample);
}

std::string FieldsText::one_frame(const Location& location, uint64_t ip, FrameId id,
                                  bool inlined) const {
  const Frame& frame = session_.resolver().frames()[id];
  std::string text = fmt::format("{:16x}", ip);
  if (fields_.has(sym)) {
    text += ' ';
    text += symbol_text(frame);
    if (!frame.method.empty()) {
      if (fields_.has(symoff) && !inlined) text += fmt::format("+0x{:x}", location.symbol_offset);
      if (frame.ambiguous) text += '?';
    }
  }
  if (fields_.has(dso) && !inlined) {
    text += " (";
    append_printable(text, session_.resolver().dso(location));
    text += ')';
  }
  if (inlined) text += " (inlined)";
  if (fields_.has(srcline) && !frame.file.empty()) {
    text += "\n  ";
    append_printable(text, frame.file);
    text += fmt::format(":{}", frame.line);
  }
  return text;
}

const std::string& FieldsText::frame_text(LocationId id) {
  if (id >= frames_.size()) frames_.resize(std::max<size_t>(id + 1, session_.location_count()));
  std::string& text = frames_[id];
  if (!text.empty()) return text;
  const Location location = session_.location(id);
  for (const FrameId inlined : session_.resolver().inlined(location)) {
    text += one_frame(location, location.shown_ip, inlined, true) + "\n\t";
  }
  text += one_frame(location, location.shown_ip, location.frame, false);
  return text;
}

bool FieldsText::append(const ResolvedSample& sample) {
  const auto& events = session_.header().events;
  const uint32_t number = sample.sample.event;
  const bool tracepoint = number < events.size() && events[number].type == kTracepoint;
  const bool callchain = number < events.size()
                             ? (events[number].sample_type & kSampleCallchain) != 0
                             : sample.callchain;
  const bool frames = fields_.has(ip, tracepoint);
  append_head(sample, tracepoint, frames && callchain);
  if (frames && callchain) {
    out_ += '\n';
    for (size_t i = sample.stack.size(); i-- > 0;) {
      out_ += '\t';
      out_ += frame_text(sample.stack[i]);
      out_ += '\n';
    }
  } else if (frames && !sample.stack.empty()) {
    // A leaf alone has the process's address.
    const Location location = session_.location(sample.stack.back());
    out_ += ' ';
    out_ += one_frame(location, location.ip, location.frame, false);
  }
  out_ += '\n';
  constexpr size_t piece = 256U << 10U;
  return out_.size() < piece || flush();
}

bool FieldsText::flush() {
  const bool going_on = out_.empty() || write_(out_);
  out_.clear();
  return going_on;
}

}  // namespace jitscope
