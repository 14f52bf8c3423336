// Timeline: the code bodies of one address space over time, as timed sources (jitdumps) tell them.
// "What lay at A at time T" has one answer, or is marked ambiguous, or is told why there is none.
//
// Rules, for records in the order of (time, adding):
//  - A load ends every living body it overlaps, whole.
//  - The same address, size and name again while that body lives is the same body going on (and
//    not an end), unless its line table differs.
//  - Nested code (HotSpot logs a blob and the entries inside it): a load that lies inside a living
//    body which was last logged at most kNestingTime before, and is smaller, does not end it. A
//    load that encloses living bodies of the very same time does not end those. The innermost
//    living body has the address; when it is gone, the one around it has it again. At most
//    kMostNesting bodies stay around a load, and a body stays inside kMostNesting later ones.
//  - MOVE ends what lies in the old range and begins the body that began there (living, whole) in
//    the new one, where it acts as a load, its lines with it. With no such body, both ranges are
//    ended.
//  - GONE ends the living body of this address and size (0: any size), else those that lie wholly
//    in the range.
//  - A body is asked for before its own time by at most `grace` and only when nothing else lay
//    there (records may be written a little after the code first ran).
//  - A body with `since` < `from` may have been there from `since` on, and was not before: in that
//    time it is the answer where nothing else lay at the address, and makes the answer ambiguous
//    where a body of another name lay there too, or may have.
//
// Use: add everything (any order), seal(), then ask, in any order of times: O(log^2 n) a question.
// seal() is O(n log n) whatever the records say; adding more afterwards needs another seal().
// Memory: about 150 bytes a body, 12 a line, names and file names once. No system calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "code/code_body.h"

namespace jitscope {

using BodyId = uint32_t;
inline constexpr BodyId kNoBody = UINT32_MAX;
inline constexpr uint64_t kForever = UINT64_MAX;

struct TimedLine {
  uint64_t address = 0;
  uint32_t line = 0;
  std::string_view file;
};

struct TimedBody {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t since = 0;         // <= from
  uint64_t from = 0;          // nanoseconds, as the source gives them
  uint64_t until = kForever;  // exclusive; set by seal()
  std::string_view name;      // raw, as the source gave it
};

struct TimelineAnswer {
  BodyId body = kNoBody;
  bool ambiguous = false;
  bool by_grace = false;
  // When ambiguous: one body of each name, `body` first, at most kMostCandidates.
  std::vector<BodyId> candidates;
  // The answer (also "none") holds for every time in [valid_from, valid_until).
  uint64_t valid_from = 0;
  uint64_t valid_until = kForever;
  // And for every address in [low, high].
  uint64_t low = 0;
  uint64_t high = UINT64_MAX;
  // When there is none: the last body that lay there before (it ended), if any.
  BodyId ended = kNoBody;
};

class Timeline {
 public:
  static constexpr uint64_t kNestingTime = 1'000'000;  // nanoseconds
  static constexpr size_t kMostNesting = 8;
  static constexpr size_t kMostCandidates = 8;

  Timeline();
  ~Timeline();
  Timeline(Timeline&&) noexcept;
  Timeline& operator=(Timeline&&) noexcept;

  // `since` > `from` counts as `from`. Size 0 is kept but never found; a size that leaves the
  // address space ends with it. Lines are copied; those before the body are dropped.
  BodyId add(uint64_t address, uint64_t size, uint64_t since, uint64_t from, std::string_view name,
             std::span<const TimedLine> lines = {});
  void move(uint64_t old_address, uint64_t new_address, uint64_t size, uint64_t time);
  void gone(uint64_t address, uint64_t size, uint64_t time);
  // Orders all and finds out who ended whom. A body that only went on with an earlier one has its
  // own id here, but is never an answer: the earlier one is. MOVE makes bodies of its own.
  void seal();

  [[nodiscard]] size_t size() const;
  [[nodiscard]] const TimedBody& body(BodyId id) const;
  // The line at an address of a body: of the last entry at or before it.
  [[nodiscard]] std::optional<TimedLine> line_at(BodyId id, uint64_t address) const;

  // 0 unless set.
  void set_grace(uint64_t nanoseconds);
  // Before seal() there is no answer.
  [[nodiscard]] TimelineAnswer at(uint64_t address, uint64_t time) const;
  // Without a time: the last body there; ambiguous when bodies of other names lay there too.
  [[nodiscard]] TimelineAnswer at_any_time(uint64_t address) const;
  // Times of the first and the last record.
  [[nodiscard]] uint64_t first_time() const;
  [[nodiscard]] uint64_t last_time() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace jitscope
