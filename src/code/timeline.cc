// Records in, answers out; see timeline.h. The rules are carried out by TimelineSweep, the
// questions by SpanIndex and WindowIndex.
#include "code/timeline.h"

#include <algorithm>

#include "code/span_index.h"
#include "code/timeline_data.h"
#include "code/timeline_sweep.h"

namespace jitscope {
namespace {

// How far back a list is looked through for candidates.
constexpr uint64_t kMostLooks = 32;

}  // namespace

struct Timeline::State {
  TimelineData data;
  SpanIndex index;
  WindowIndex windows;
  uint64_t grace = 0;
  uint64_t first_time = UINT64_MAX;
  uint64_t last_time = 0;

  void saw(uint64_t time) {
    first_time = std::min(first_time, time);
    last_time = std::max(last_time, time);
  }
  void add_lines(BodyId id, std::span<const TimedLine> lines);
  [[nodiscard]] uint32_t name_of(BodyId id) const { return data.extra[id].name; }
  void by_window(std::span<const SpanIndex::Entry> hits, bool all, TimelineAnswer& answer) const;
};

Timeline::Timeline() : state_(std::make_unique<State>()) {}
Timeline::~Timeline() = default;
Timeline::Timeline(Timeline&&) noexcept = default;
Timeline& Timeline::operator=(Timeline&&) noexcept = default;

void Timeline::State::add_lines(BodyId id, std::span<const TimedLine> lines) {
  TimelineData::Extra& extra = data.extra[id];
  extra.first_line = data.lines.size();
  std::string_view last_file;
  uint32_t file = UINT32_MAX;
  for (const TimedLine& line : lines) {
    const uint64_t offset = line.address - data.bodies[id].address;
    if (line.address < data.bodies[id].address || offset > UINT32_MAX) continue;
    if (file == UINT32_MAX || line.file != last_file) {
      file = data.files.intern(line.file);
      last_file = line.file;
    }
    data.lines.push_back({static_cast<uint32_t>(offset), line.line, file});
    ++extra.line_count;
  }
  const auto mine = std::span(data.lines).subspan(extra.first_line);
  if (!std::ranges::is_sorted(mine, {}, &TimelineData::Line::offset)) {
    std::ranges::stable_sort(mine, {}, &TimelineData::Line::offset);
  }
}

BodyId Timeline::add(uint64_t address, uint64_t size, uint64_t since, uint64_t from,
                     std::string_view name, std::span<const TimedLine> lines) {
  TimelineData::Extra extra;
  extra.name = state_->data.names.intern(name);
  TimedBody body;
  body.address = address;
  body.size = size;
  body.since = std::min(since, from);
  body.from = from;
  body.name = state_->data.names.view(extra.name);
  const BodyId id = state_->data.push(body, extra);
  state_->saw(from);
  if (!lines.empty()) state_->add_lines(id, lines);
  return id;
}

void Timeline::move(uint64_t old_address, uint64_t new_address, uint64_t size, uint64_t time) {
  state_->saw(time);
  const auto adds = static_cast<BodyId>(state_->data.bodies.size());
  state_->data.changes.push_back({old_address, size, time, new_address, adds, kNoBody, true});
}

void Timeline::gone(uint64_t address, uint64_t size, uint64_t time) {
  state_->saw(time);
  const auto adds = static_cast<BodyId>(state_->data.bodies.size());
  state_->data.changes.push_back({address, size, time, 0, adds, kNoBody, false});
}

void Timeline::seal() {
  TimelineSweep sweep(state_->data);
  sweep.run();
  state_->index.build(sweep.spans);
  state_->windows.build(std::move(sweep.windows));
}

size_t Timeline::size() const {
  return state_->data.bodies.size();
}

const TimedBody& Timeline::body(BodyId id) const {
  return state_->data.bodies[id];
}

std::optional<TimedLine> Timeline::line_at(BodyId id, uint64_t address) const {
  const TimelineData& data = state_->data;
  if (data.extra[id].line_count == 0 && data.extra[id].same_as != kNoBody) {
    id = data.extra[id].same_as;
  }
  const uint64_t start = data.bodies[id].address;
  if (address < start || address >= data.end(id)) return std::nullopt;
  const auto lines = data.lines_of(id);
  const auto after =
      std::ranges::upper_bound(lines, address - start, {}, &TimelineData::Line::offset);
  if (after == lines.begin()) return std::nullopt;
  const TimelineData::Line& line = *(after - 1);
  return TimedLine{start + line.offset, line.line, data.files.view(line.file)};
}

void Timeline::set_grace(uint64_t nanoseconds) {
  state_->grace = nanoseconds;
}

// Bodies that may have been there, beside or instead of the one that was.
void Timeline::State::by_window(std::span<const SpanIndex::Entry> hits, bool all,
                                TimelineAnswer& answer) const {
  if (answer.body == kNoBody) {
    // The one that was seen first; the later record where two were seen at once.
    const auto soonest = std::ranges::min_element(hits, [](const auto& a, const auto& b) {
      return a.until != b.until ? a.until < b.until : a.body > b.body;
    });
    answer.body = soonest->body;
  }
  answer.candidates.push_back(answer.body);
  answer.ambiguous = !all;
  for (const SpanIndex::Entry& hit : hits) {
    const bool known =
        std::ranges::any_of(answer.candidates, [&](BodyId id) { return name_of(id) == hit.name; });
    if (known) continue;
    answer.ambiguous = true;
    if (answer.candidates.size() < kMostCandidates) answer.candidates.push_back(hit.body);
  }
  if (!answer.ambiguous) answer.candidates.clear();
}

TimelineAnswer Timeline::at(uint64_t address, uint64_t time) const {
  const SpanIndex& index = state_->index;
  // Spans at one address follow each other: the last that began by then, and the one after it.
  constexpr uint32_t kNone = UINT32_MAX;
  uint32_t before = kNone;
  uint32_t after = kNone;
  index.for_each_list(address, [&](uint64_t first, uint64_t count, uint32_t /*name*/) {
    const auto items = index.items().subspan(first, count);
    const auto later = std::ranges::upper_bound(items, time, {},
                                                [&](uint32_t id) { return index.entry(id).from; });
    if (later != items.end()) after = std::min(after, *later);
    if (later != items.begin() && (before == kNone || *(later - 1) > before)) before = *(later - 1);
  });

  TimelineAnswer answer;
  index.narrow(address, answer.low, answer.high);
  state_->windows.narrow(address, answer.low, answer.high);
  if (before != kNone && index.entry(before).until > time) {
    const SpanIndex::Entry& entry = index.entry(before);
    answer.body = entry.body;
    answer.valid_from = entry.from;
    answer.valid_until = entry.until;
  } else {
    if (before != kNone) answer.valid_from = index.entry(before).until;
    if (after != kNone) answer.valid_until = index.entry(after).from;
  }

  if (!state_->windows.empty()) {
    const WindowIndex::Found found = state_->windows.at(address, time);
    answer.valid_from = std::max(answer.valid_from, found.valid_from);
    answer.valid_until = std::min(answer.valid_until, found.valid_until);
    if (!found.hits.empty()) state_->by_window(found.hits, found.all, answer);
  }
  if (answer.body != kNoBody) return answer;

  if (after != kNone && state_->grace != 0) {
    const SpanIndex::Entry& next = index.entry(after);
    const uint64_t earliest = next.from > state_->grace ? next.from - state_->grace : 0;
    if (body(next.body).since == body(next.body).from) {
      if (time >= earliest) {
        answer.body = next.body;
        answer.by_grace = true;
        answer.valid_from = std::max(answer.valid_from, earliest);
        return answer;
      }
      answer.valid_until = std::min(answer.valid_until, earliest);
    }
  }
  if (before != kNone) answer.ended = index.entry(before).body;
  return answer;
}

TimelineAnswer Timeline::at_any_time(uint64_t address) const {
  const SpanIndex& index = state_->index;
  TimelineAnswer answer;
  index.narrow(address, answer.low, answer.high);
  std::vector<uint32_t> latest;  // entries
  std::optional<uint32_t> name;
  index.for_each_list(address, [&](uint64_t first, uint64_t count, uint32_t list_name) {
    if (list_name == SpanIndex::kMixed || (name && *name != list_name)) answer.ambiguous = true;
    name = list_name;
    const uint64_t looks = list_name == SpanIndex::kMixed ? std::min(count, kMostLooks) : 1;
    const auto items = index.items().subspan(first + count - looks, looks);
    latest.insert(latest.end(), items.begin(), items.end());
  });
  if (latest.empty()) return answer;
  std::ranges::sort(latest, std::greater<>());
  answer.body = index.entry(latest.front()).body;
  if (!answer.ambiguous) return answer;
  std::vector<uint32_t> names;
  for (const uint32_t id : latest) {
    if (answer.candidates.size() == kMostCandidates) break;
    const uint32_t its = index.entry(id).name;
    if (std::ranges::find(names, its) != names.end()) continue;
    names.push_back(its);
    answer.candidates.push_back(index.entry(id).body);
  }
  return answer;
}

uint64_t Timeline::first_time() const {
  return state_->data.bodies.empty() && state_->data.changes.empty() ? 0 : state_->first_time;
}

uint64_t Timeline::last_time() const {
  return state_->last_time;
}

}  // namespace jitscope
