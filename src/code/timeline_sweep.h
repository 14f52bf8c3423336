// TimelineSweep: goes through the records of a timeline in order of time and finds out who ended
// whom: the rules of timeline.h. Inside src/code only.
//
// The living bodies are disjoint or nested. `pieces_` covers exactly what they cover; each piece
// belongs to the innermost body there. Ending a body gives its pieces to the body around it.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "code/span_index.h"
#include "code/timeline_data.h"

namespace jitscope {

class TimelineSweep {
 public:
  explicit TimelineSweep(TimelineData& data) : data_(&data) {}
  // Sets `until` and `same_as` of all bodies and makes those that moves begin.
  void run();

  // Which body has which addresses when, in the order of `from`.
  std::vector<TimeSpan> spans;
  // [since, from) of the bodies that may have been there before.
  std::vector<TimeSpan> windows;

 private:
  struct Life {
    uint64_t logged = 0;      // when last
    BodyId around = kNoBody;  // the next larger one when this began; it may have ended since
    uint32_t mark = 0;        // of the last look that met it
    uint8_t kept = 0;         // inside how many later ones it stayed
    bool living = false;
    bool inside = false;  // of the load at hand
  };
  struct Piece {
    uint64_t high = 0;
    BodyId body = kNoBody;
    uint32_t span = 0;  // the open one in `spans`
  };
  using Pieces = std::map<uint64_t, Piece>;

  void load(BodyId id, uint64_t time);
  void change(TimelineData::Change& change);
  // The living bodies that overlap [low, high), inner ones before those around them.
  void touch(uint64_t low, uint64_t high);
  [[nodiscard]] BodyId around(BodyId id);
  [[nodiscard]] BodyId begins_at(uint64_t address, uint64_t size, bool any_size);
  [[nodiscard]] bool goes_on(BodyId old, BodyId id);
  [[nodiscard]] bool encloses(BodyId outer, BodyId inner) const;
  void end_all(const std::vector<BodyId>& ids, uint64_t time);
  void place(BodyId id, uint64_t time);
  [[nodiscard]] Pieces::iterator first_piece(uint64_t low);
  Pieces::iterator joined(Pieces::iterator piece, uint64_t time);
  Pieces::iterator add_piece(uint64_t low, uint64_t high, BodyId body, uint64_t time);

  TimelineData* data_;
  Pieces pieces_;
  std::vector<Life> lives_;
  std::vector<BodyId> touched_;
  std::vector<BodyId> outer_, inner_, ended_;
  uint32_t look_ = 0;
};

}  // namespace jitscope
