#include "render/report_keys.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace jitscope {
namespace {

template <typename Enum>
std::string names_of(uint32_t bits) {
  std::string text;
  for (; bits != 0; bits &= bits - 1) {
    if (!text.empty()) text += ',';
    text += to_string(static_cast<Enum>(std::countr_zero(bits)));
  }
  return text;
}

}  // namespace

bool has(const ReportOptions& options, ReportKey key) {
  return std::ranges::find(options.keys, key) != options.keys.end();
}

bool tells_threads_apart(const ReportOptions& options) {
  using enum ReportKey;
  return has(options, process) || has(options, thread) || has(options, comm) || has(options, cpu);
}

void name_label(ReportRow& row, const Group& group, const ReportOptions& options) {
  if (has(options, ReportKey::process)) row.process = process_label(group);
  if (has(options, ReportKey::thread)) row.thread = thread_label(group, true);
  if (has(options, ReportKey::comm)) row.comm = group.comm;
  if (has(options, ReportKey::cpu) && group.cpu != UINT32_MAX) row.cpu = std::to_string(group.cpu);
}

std::string label_key(const Group& group, const ReportOptions& options) {
  ReportRow row;
  name_label(row, group, options);
  std::string text;
  for (const std::string& part : {row.process, row.thread, row.comm, row.cpu}) {
    append_part(text, part);
  }
  return text;
}

std::string line_text(const Frame& frame) {
  return frame.file.empty() ? std::string() : frame.file + ":" + std::to_string(frame.line);
}

void append_part(std::string& text, std::string_view part) {
  text += part;
  text += '\0';
}

std::string version_of(const Frame& frame) {
  std::string text(to_string(frame.tier));
  return text + (frame.ambiguous ? "?" : "");
}

bool is_shown(const Frame& frame, const ReportOptions& options) {
  return options.dsos.empty() || options.dsos.holds(frame.dso) ||
         options.dsos.holds(frame.dso_path);
}

std::string row_key(const Frame& frame, const ReportOptions& options) {
  std::string text;
  if (!is_shown(frame, options)) append_part(text, "left out");
  for (const ReportKey key : options.keys) {
    switch (key) {
      case ReportKey::method:
        append_part(text, frame.method);
        if (frame.method.empty()) append_part(text, to_string(frame.no_name));
        if (options.split_tiers) append_part(text, version_of(frame));
        break;
      case ReportKey::dso:
        append_part(text, frame.dso);
        break;
      case ReportKey::tier:
        append_part(text, to_string(frame.tier));
        break;
      case ReportKey::source:
        append_part(text, to_string(frame.source));
        break;
      case ReportKey::srcline:
        append_part(text, line_text(frame));
        break;
      case ReportKey::process:
      case ReportKey::thread:
      case ReportKey::comm:
      case ReportKey::cpu:
        break;
    }
  }
  return text;
}

void RowFacts::add(const RowFacts& other) {
  tiers |= other.tiers;
  sources |= other.sources;
  ambiguous |= other.ambiguous;
  first = std::min(first, other.first);
}

void RowFacts::add(FrameId id, const Frame& frame) {
  if (frame.tier != Tier::unknown) tiers |= 1U << static_cast<unsigned>(frame.tier);
  sources |= 1U << static_cast<unsigned>(frame.source);
  ambiguous |= frame.ambiguous;
  first = std::min(first, id);
}

void RowFacts::describe(ReportRow& row, const std::vector<Frame>& frames) const {
  row.frame = frames[first];
  row.tiers = names_of<Tier>(tiers);
  row.sources = names_of<NameSource>(sources);
  row.ambiguous = ambiguous;
}

std::vector<uint32_t> report_order(const std::vector<ReportRow>& rows,
                                   const ReportOptions& options) {
  const Measure measure = options.measure;
  std::vector<uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](uint32_t row) { return !is_shown(rows[row].frame, options); });
  const auto first = [&](const ReportRow& row) {
    return options.children ? row.total.of(measure) : row.self.of(measure);
  };
  const auto second = [&](const ReportRow& row) {
    return options.children ? row.self.of(measure) : row.total.of(measure);
  };
  std::ranges::sort(order, [&](uint32_t x, uint32_t y) {
    const ReportRow& a = rows[x];
    const ReportRow& b = rows[y];
    if (first(a) != first(b)) return first(a) > first(b);
    if (second(a) != second(b)) return second(a) > second(b);
    if (a.frame.method != b.frame.method) return a.frame.method < b.frame.method;
    if (a.frame.dso != b.frame.dso) return a.frame.dso < b.frame.dso;
    return x < y;
  });
  return order;
}

void describe_report(Report& report, const Profile& profile, const ReportOptions& options) {
  report.options = options;
  if (options.event < profile.events.size()) report.event = profile.events[options.event];
  report.samples = profile.samples;
  report.lost = profile.lost;
  report.events = profile.events;
  report.command = profile.command;
  report.hostname = profile.hostname;
}

}  // namespace jitscope
