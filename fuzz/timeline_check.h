// Timeline against a model that follows the rules of timeline.h word by word and keeps nothing:
// every question goes through all records anew. Shared by the fuzz target and the unit tests. Bytes
// are taken as operations over few addresses, times and names, so that records meet each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "code/timeline.h"

namespace jitscope::fuzz {

class TimelineModel {
 public:
  struct Body {
    uint64_t low = 0;
    uint64_t high = 0;
    uint64_t since = 0;
    uint64_t from = 0;
    std::string name;
    std::vector<uint32_t> lines;
    uint64_t logged = 0;
    size_t kept = 0;
  };
  struct Record {
    enum Kind { load, move, gone } kind = load;
    uint64_t time = 0;
    Body body;  // of a load; its range is that of the others
    uint64_t new_address = 0;
  };
  std::vector<Record> records;

  struct Answer {
    std::optional<Body> body;
    std::set<std::string> names;  // all that it may be
    bool by_grace = false;
    std::optional<Body> ended;
  };

  Answer at(uint64_t address, uint64_t time, uint64_t grace) {
    replay(address, time);
    Answer answer;
    std::vector<const Body*> may;
    for (const Body& body : windows_) {
      if (holds(body, address) && body.since <= time && time < body.from) may.push_back(&body);
    }
    if (now_) {
      answer.body = now_;
    } else if (!may.empty()) {
      const Body* first = may.front();
      for (const Body* body : may) {
        if (body->from <= first->from) first = body;
      }
      answer.body = *first;
    } else if (next_ && next_->since == next_->from && next_->from - time <= grace && grace != 0) {
      answer.body = next_;
      answer.by_grace = true;
    }
    if (answer.body) {
      answer.names.insert(answer.body->name);
    } else {
      answer.ended = last_;
    }
    for (const Body* body : may) answer.names.insert(body->name);
    return answer;
  }

  struct AnyTime {
    std::optional<Body> last;
    std::set<std::string> seen;    // had the address after some record
    std::set<std::string> living;  // lived around it
  };
  AnyTime at_any_time(uint64_t address) {
    replay(address, UINT64_MAX);
    return {last_, seen_, lived_};
  }

 private:
  static bool holds(const Body& body, uint64_t address) {
    return body.low <= address && address < body.high;
  }
  static bool overlap(const Body& a, const Body& b) { return a.low < b.high && b.low < a.high; }
  static bool encloses(const Body& a, const Body& b) {
    return a.low <= b.low && b.high <= a.high && a.high - a.low > b.high - b.low;
  }

  void begin(Body body, uint64_t time) {
    if (body.low == body.high) return;
    for (Body& old : living_) {
      if (old.low != body.low || old.high != body.high || old.name != body.name) continue;
      if (old.lines.empty()) old.lines = body.lines;
      if (!body.lines.empty() && old.lines != body.lines) continue;
      old.logged = time;
      return;
    }
    std::vector<Body> kept;
    std::vector<Body> around;
    for (Body& old : living_) {
      if (!overlap(old, body)) {
        kept.push_back(old);
      } else if (encloses(old, body) && time - old.logged <= Timeline::kNestingTime) {
        around.push_back(old);
      } else if (encloses(body, old) && time == old.logged && old.kept < Timeline::kMostNesting) {
        ++old.kept;
        kept.push_back(old);
      }
    }
    std::ranges::sort(around, {}, [](const Body& one) { return one.high - one.low; });
    if (around.size() > Timeline::kMostNesting) around.resize(Timeline::kMostNesting);
    kept.insert(kept.end(), around.begin(), around.end());
    body.logged = time;
    kept.push_back(body);
    living_ = kept;
    if (body.since < body.from) windows_.push_back(body);
  }

  template <typename Which>
  void end(Which which) {
    std::erase_if(living_, which);
  }

  [[nodiscard]] const Body* innermost(uint64_t address) const {
    const Body* found = nullptr;
    for (const Body& body : living_) {
      if (holds(body, address) &&
          (found == nullptr || body.high - body.low < found->high - found->low)) {
        found = &body;
      }
    }
    return found;
  }

  // The innermost that begins there; one of this size before all others.
  [[nodiscard]] const Body* begins_at(const Body& range) const {
    const Body* found = nullptr;
    for (const Body& body : living_) {
      if (body.low != range.low) continue;
      if (body.high == range.high) return &body;
      if (found == nullptr || body.high < found->high) found = &body;
    }
    return found;
  }

  void take(const Record& record) {
    const Body& range = record.body;
    if (record.kind == Record::load) {
      begin(record.body, record.time);
    } else if (record.kind == Record::gone) {
      const Body* exact = begins_at(range);
      if (exact != nullptr && exact->high != range.high && range.high != range.low) exact = nullptr;
      if (exact != nullptr) {
        const Body gone = *exact;
        end([&](const Body& old) { return old.low == gone.low && old.high == gone.high; });
      } else {
        end([&](const Body& old) { return old.low >= range.low && old.high <= range.high; });
      }
    } else {
      const Body* found = begins_at(range);
      std::optional<Body> moved;
      if (found != nullptr) moved = *found;
      Body old_range = range;
      if (moved) old_range.high = std::max(old_range.high, moved->high);
      end([&](const Body& old) { return overlap(old, old_range); });
      Body place = range;
      place.low = record.new_address;
      place.high = record.new_address + (range.high - range.low);
      if (moved) {
        Body body = *moved;
        body.low = record.new_address;
        body.high = body.low + (moved->high - moved->low);
        body.since = body.from = record.time;
        body.kept = 0;
        begin(body, record.time);
      } else {
        end([&](const Body& old) { return overlap(old, place); });
      }
    }
  }

  // Everything up to `time` as it was seen at `address`, and what comes next there.
  void replay(uint64_t address, uint64_t time) {
    std::vector<size_t> order(records.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](size_t i) { return records[i].time; });
    living_.clear();
    windows_.clear();
    seen_.clear();
    lived_.clear();
    now_.reset();
    last_.reset();
    next_.reset();
    bool beyond = false;
    const auto look = [&]() -> std::optional<Body> {
      const Body* body = innermost(address);
      return body == nullptr ? std::nullopt : std::optional(*body);
    };
    for (const size_t i : order) {
      if (records[i].time > time && !std::exchange(beyond, true)) now_ = look();
      take(records[i]);
      for (const Body& one : living_) {
        if (holds(one, address)) lived_.insert(one.name);
      }
      const std::optional<Body> body = look();
      if (!body) continue;
      seen_.insert(body->name);
      if (!beyond) last_ = body;
      if (beyond && !next_) next_ = body;
    }
    if (!beyond) now_ = look();
  }

  std::vector<Body> living_;
  std::vector<Body> windows_;
  std::set<std::string> seen_, lived_;
  std::optional<Body> now_, last_, next_;
};

// Operations from bytes, given to both.
class TimelineCheck {
 public:
  explicit TimelineCheck(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::string run() {
    const uint64_t grace = byte() % 3U * kUnit;
    timeline_.set_grace(grace);
    while (next_ < bytes_.size() && model_.records.size() < 48) operation();
    timeline_.seal();
    std::vector<uint64_t> times = {0, 1};
    for (const auto& record : model_.records) {
      for (const uint64_t time : {record.time, record.body.since, record.time - grace}) {
        times.insert(times.end(), {time - 1, time, time + 1});
      }
    }
    uint64_t random = bytes_.size();
    for (const std::byte one : bytes_) random = (random ^ uint64_t(one)) * 0x9e3779b97f4a7c15U;
    for (int i = 0; i < 48; ++i) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      const uint64_t address = (random >> 33U) % 112U;
      const uint64_t time = times[(random >> 40U) % times.size()];
      if (auto wrong = ask(address, time, grace); !wrong.empty()) return wrong;
    }
    return {};
  }

 private:
  static constexpr uint64_t kUnit = 400'000;

  unsigned byte() {
    return next_ < bytes_.size() ? std::to_integer<unsigned>(bytes_[next_++]) : 0U;
  }

  void operation() {
    const unsigned what = byte();
    TimelineModel::Record record;
    TimelineModel::Body& body = record.body;
    body.low = byte() % 80U;
    const uint64_t size = byte() % 24U;
    body.high = body.low + size;
    record.time = 10'000'000 + byte() % 24U * kUnit;
    const unsigned more = byte();
    body.from = record.time;
    body.since = record.time;
    if (what % 8U == 0) {
      record.kind = TimelineModel::Record::gone;
      timeline_.gone(body.low, size, record.time);
    } else if (what % 8U == 1) {
      record.kind = TimelineModel::Record::move;
      record.new_address = more % 80U;
      timeline_.move(body.low, record.new_address, size, record.time);
    } else {
      if ((more & 4U) != 0) body.since -= (more >> 3U & 3U) * 3 * kUnit;
      body.name = std::string(1, static_cast<char>('a' + (more & 3U)));
      std::vector<TimedLine> lines;
      if ((more & 0xc0U) == 0x40U) {
        body.lines.push_back(more >> 5U & 1U);
        lines.push_back({body.low, body.lines.back(), "file"});
      }
      timeline_.add(body.low, size, body.since, body.from, body.name, lines);
    }
    model_.records.push_back(record);
  }

  [[nodiscard]] bool same(BodyId id, const std::optional<TimelineModel::Body>& body) const {
    if (id == kNoBody || !body) return id == kNoBody && !body;
    const TimedBody& other = timeline_.body(id);
    return other.name == body->name && other.address == body->low &&
           other.address + other.size == body->high;
  }

  // Whether the answer is what the model says for this time.
  std::string compare(const TimelineAnswer& answer, uint64_t address, uint64_t time,
                      uint64_t grace) {
    const std::string place = " at " + std::to_string(address) + ", time " + std::to_string(time);
    const auto expected = model_.at(address, time, grace);
    if (!same(answer.body, expected.body)) return "another body" + place;
    if (answer.by_grace != expected.by_grace) return "wrongly by grace" + place;
    if (!same(answer.ended, expected.ended)) return "another ended body" + place;
    if (answer.ambiguous != (expected.names.size() > 1)) return "wrongly ambiguous" + place;
    if (answer.body != kNoBody && !answer.by_grace) {
      const TimedBody& body = timeline_.body(answer.body);
      if (time < body.since || time >= body.until) return "outside the life of the body" + place;
    }
    std::set<std::string> names;
    for (const BodyId id : answer.candidates) {
      if (!names.insert(std::string(timeline_.body(id).name)).second) {
        return "a candidate twice" + place;
      }
    }
    if (names != (answer.ambiguous ? expected.names : std::set<std::string>())) {
      return "other candidates" + place;
    }
    if (answer.ambiguous && answer.candidates.front() != answer.body) {
      return "the body is not the first candidate" + place;
    }
    return {};
  }

  std::string ask(uint64_t address, uint64_t time, uint64_t grace) {
    const TimelineAnswer answer = timeline_.at(address, time);
    if (answer.valid_from > time || answer.valid_until <= time) return "valid at another time";
    const uint64_t last = answer.valid_until == kForever ? time + 1 : answer.valid_until - 1;
    const uint64_t middle = answer.valid_from + (last - answer.valid_from) / 2;
    for (const uint64_t moment : {time, answer.valid_from, middle, last}) {
      if (auto wrong = compare(answer, address, moment, grace); !wrong.empty()) return wrong;
    }
    const TimelineAnswer any = timeline_.at_any_time(address);
    const auto expected = model_.at_any_time(address);
    if (!same(any.body, expected.last)) return "another last body at " + std::to_string(address);
    if (expected.seen.size() > 1 && !any.ambiguous) return "wrongly certain without a time";
    if (expected.living.size() <= 1 && any.ambiguous) return "wrongly ambiguous without a time";
    for (const BodyId id : any.candidates) {
      if (!expected.living.contains(std::string(timeline_.body(id).name))) {
        return "a candidate that never lay there";
      }
    }
    return {};
  }

  std::span<const std::byte> bytes_;
  size_t next_ = 0;
  Timeline timeline_;
  TimelineModel model_;
};

// Empty: all is well.
inline std::string check_timeline(std::span<const std::byte> bytes) {
  return TimelineCheck(bytes).run();
}

}  // namespace jitscope::fuzz
