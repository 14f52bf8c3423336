// See timeline_sweep.h. What a record costs is bounded over all records: a piece is made by a load
// (a few each), goes up to the body around it at most as often as bodies are nested, and nesting is
// bounded by kMostNesting on both sides.
#include "code/timeline_sweep.h"

#include <algorithm>

namespace jitscope {

TimelineSweep::Pieces::iterator TimelineSweep::first_piece(uint64_t low) {
  auto piece = pieces_.upper_bound(low);
  if (piece != pieces_.begin() && std::prev(piece)->second.high > low) --piece;
  return piece;
}

TimelineSweep::Pieces::iterator TimelineSweep::add_piece(uint64_t low, uint64_t high, BodyId body,
                                                         uint64_t time) {
  const auto span = static_cast<uint32_t>(spans.size());
  spans.push_back({low, high, time, kForever, body, data_->extra[body].name});
  return pieces_.insert_or_assign(low, Piece{high, body, span}).first;
}

BodyId TimelineSweep::around(BodyId id) {
  BodyId next = lives_[id].around;
  while (next != kNoBody && !lives_[next].living) next = lives_[next].around;
  lives_[id].around = next;
  return next;
}

void TimelineSweep::touch(uint64_t low, uint64_t high) {
  touched_.clear();
  ++look_;
  for (auto piece = first_piece(low); piece != pieces_.end() && piece->first < high; ++piece) {
    for (BodyId id = piece->second.body; id != kNoBody && lives_[id].mark != look_;
         id = around(id)) {
      lives_[id].mark = look_;
      touched_.push_back(id);
    }
  }
}

bool TimelineSweep::encloses(BodyId outer, BodyId inner) const {
  const uint64_t outer_low = data_->bodies[outer].address;
  const uint64_t inner_low = data_->bodies[inner].address;
  const uint64_t outer_high = data_->end(outer);
  const uint64_t inner_high = data_->end(inner);
  return outer_low <= inner_low && inner_high <= outer_high &&
         outer_high - outer_low > inner_high - inner_low;
}

// Whether a living body of the same range is the same body.
bool TimelineSweep::goes_on(BodyId old, BodyId id) {
  TimelineData::Extra& before = data_->extra[old];
  const TimelineData::Extra& now = data_->extra[id];
  if (before.name != now.name) return false;
  if (now.line_count == 0) return true;
  if (before.line_count == 0) {  // told only now
    before.first_line = now.first_line;
    before.line_count = now.line_count;
    return true;
  }
  return std::ranges::equal(data_->lines_of(old), data_->lines_of(id));
}

// Takes in the neighbours of the same body, so that what a question must look at stays bounded by
// what lives. The piece is new: its span begins now.
TimelineSweep::Pieces::iterator TimelineSweep::joined(Pieces::iterator piece, uint64_t time) {
  TimeSpan& span = spans[piece->second.span];
  const auto next = std::next(piece);
  if (next != pieces_.end() && next->first == piece->second.high &&
      next->second.body == piece->second.body) {
    spans[next->second.span].until = time;
    span.high = piece->second.high = next->second.high;
    pieces_.erase(next);
  }
  if (piece == pieces_.begin()) return piece;
  const auto previous = std::prev(piece);
  if (previous->second.high != piece->first || previous->second.body != piece->second.body) {
    return piece;
  }
  spans[previous->second.span].until = time;
  span.low = previous->first;
  previous->second = piece->second;
  pieces_.erase(piece);
  return previous;
}

void TimelineSweep::end_all(const std::vector<BodyId>& ids, uint64_t time) {
  for (const BodyId id : ids) {
    lives_[id].living = false;
    data_->bodies[id].until = time;
  }
  for (const BodyId id : ids) {
    const uint64_t high = data_->end(id);
    for (auto piece = first_piece(data_->bodies[id].address);
         piece != pieces_.end() && piece->first < high;) {
      if (piece->second.body != id) {
        ++piece;
        continue;
      }
      spans[piece->second.span].until = time;
      const BodyId heir = around(id);
      if (heir == kNoBody) {
        piece = pieces_.erase(piece);
      } else {
        piece = std::next(joined(add_piece(piece->first, piece->second.high, heir, time), time));
      }
    }
  }
}

// Gives the load the addresses that no body inside it has.
void TimelineSweep::place(BodyId id, uint64_t time) {
  const uint64_t low = data_->bodies[id].address;
  const uint64_t high = data_->end(id);
  uint64_t next = low;
  for (auto piece = first_piece(low); piece != pieces_.end() && piece->first < high;) {
    const uint64_t piece_low = piece->first;
    const Piece old = piece->second;
    if (lives_[old.body].inside) {
      if (next < piece_low) add_piece(next, piece_low, id, time);
      next = old.high;
      ++piece;
      continue;
    }
    // Of a body around: only what lies outside stays its own.
    spans[old.span].until = time;
    piece = pieces_.erase(piece);
    if (piece_low < low) add_piece(piece_low, low, old.body, time);
    if (old.high > high) add_piece(high, old.high, old.body, time);
  }
  if (next < high) add_piece(next, high, id, time);
}

void TimelineSweep::load(BodyId id, uint64_t time) {
  TimedBody& body = data_->bodies[id];
  if (body.size == 0) return;
  const BodyId same = begins_at(body.address, body.size, false);
  if (same != kNoBody && goes_on(same, id)) {
    data_->extra[id].same_as = same;
    lives_[same].logged = time;
    return;
  }

  touch(body.address, data_->end(id));
  outer_.clear();
  inner_.clear();
  ended_.clear();
  for (const BodyId other : touched_) {
    Life& life = lives_[other];
    if (encloses(other, id) && time - life.logged <= Timeline::kNestingTime) {
      outer_.push_back(other);
    } else if (encloses(id, other) && time == life.logged && life.kept < Timeline::kMostNesting) {
      ++life.kept;
      inner_.push_back(other);
    } else {
      ended_.push_back(other);
    }
  }
  // Those around were met from the inside to the outside.
  while (outer_.size() > Timeline::kMostNesting) {
    ended_.push_back(outer_.back());
    outer_.pop_back();
  }
  end_all(ended_, time);

  for (const BodyId inner : inner_) lives_[inner].inside = true;
  place(id, time);
  for (const BodyId inner : inner_) {
    const BodyId next = around(inner);
    if (next == kNoBody || !lives_[next].inside) lives_[inner].around = id;
  }
  for (const BodyId inner : inner_) lives_[inner].inside = false;

  Life& life = lives_[id];
  life.living = true;
  life.logged = time;
  life.around = outer_.empty() ? kNoBody : outer_.front();
  if (body.since < body.from) {
    windows.push_back(
        {body.address, data_->end(id), body.since, body.from, id, data_->extra[id].name});
  }
}

// The living body that begins at the address: the innermost of the size, if there is one.
BodyId TimelineSweep::begins_at(uint64_t address, uint64_t size, bool any_size) {
  const auto piece = first_piece(address);
  if (piece == pieces_.end() || piece->first > address) return kNoBody;
  BodyId first = kNoBody;
  for (BodyId id = piece->second.body; id != kNoBody; id = around(id)) {
    if (data_->bodies[id].address != address) continue;
    if (data_->bodies[id].size == size) return id;
    if (first == kNoBody) first = id;
  }
  return any_size ? first : kNoBody;
}

void TimelineSweep::change(TimelineData::Change& change) {
  const auto end_of = [](uint64_t address, uint64_t size) {
    return address + size < address ? UINT64_MAX : address + size;
  };
  const uint64_t high = end_of(change.address, change.size);
  if (!change.move) {
    const BodyId exact = begins_at(change.address, change.size, change.size == 0);
    ended_.clear();
    if (exact != kNoBody) {
      ended_.push_back(exact);
    } else {
      touch(change.address, high);
      std::ranges::copy_if(touched_, std::back_inserter(ended_), [&](BodyId id) {
        return data_->bodies[id].address >= change.address && data_->end(id) <= high;
      });
    }
    end_all(ended_, change.time);
    return;
  }

  const BodyId moved = begins_at(change.address, change.size, true);
  touch(change.address, moved == kNoBody ? high : std::max(high, data_->end(moved)));
  ended_ = touched_;
  end_all(ended_, change.time);
  if (moved == kNoBody) {
    touch(change.new_address, end_of(change.new_address, change.size));
    ended_ = touched_;
    end_all(ended_, change.time);
    return;
  }
  TimedBody body = data_->bodies[moved];
  body.address = change.new_address;
  body.since = body.from = change.time;
  body.until = kForever;
  TimelineData::Extra extra = data_->extra[moved];
  extra.from_move = true;
  extra.same_as = kNoBody;
  if (change.made == kNoBody) {
    change.made = data_->push(body, extra);
    lives_.emplace_back();
  } else {
    data_->bodies[change.made] = body;
    data_->extra[change.made] = extra;
  }
  load(change.made, change.time);
}

void TimelineSweep::run() {
  struct Event {
    uint64_t time = 0;
    uint32_t order = 0;  // bodies that were added before
    BodyId body = kNoBody;
    uint32_t change = 0;
  };
  std::vector<Event> events;
  events.reserve(data_->bodies.size() + data_->changes.size());
  // Changes before the body that was added after them: the sort is stable.
  for (uint32_t i = 0; i < data_->changes.size(); ++i) {
    events.push_back({data_->changes[i].time, data_->changes[i].adds, kNoBody, i});
  }
  for (BodyId id = 0; id < data_->bodies.size(); ++id) {
    data_->bodies[id].until = kForever;
    data_->extra[id].same_as = kNoBody;
    if (!data_->extra[id].from_move) events.push_back({data_->bodies[id].from, id, id, 0});
  }
  const auto key = [](const Event& event) { return std::pair(event.time, event.order); };
  if (!std::ranges::is_sorted(events, {}, key)) std::ranges::stable_sort(events, {}, key);

  lives_.assign(data_->bodies.size(), Life());
  spans.reserve(data_->bodies.size());
  for (const Event& event : events) {
    if (event.body != kNoBody) {
      load(event.body, event.time);
    } else {
      change(data_->changes[event.change]);
    }
  }
  for (BodyId id = 0; id < data_->bodies.size(); ++id) {
    const BodyId same = data_->extra[id].same_as;
    if (same != kNoBody) data_->bodies[id].until = data_->bodies[same].until;
  }
}

}  // namespace jitscope
