// What a Timeline was told, as its parts share it. Inside src/code only.
#pragma once

#include <cstdint>
#include <vector>

#include "code/name_pool.h"
#include "code/timeline.h"

namespace jitscope {

struct TimelineData {
  // Of bodies[i], beyond what users see.
  struct Extra {
    uint64_t first_line = 0;  // in `lines`
    uint32_t line_count = 0;
    uint32_t name = 0;         // in `names`
    BodyId same_as = kNoBody;  // the earlier body that this one goes on with
    bool from_move = false;    // made by seal()
  };
  struct Line {
    uint32_t offset = 0;  // from the start of the body
    uint32_t line = 0;
    uint32_t file = 0;  // in `files`
    friend bool operator==(const Line&, const Line&) = default;
  };
  // What is no load. `adds` says how many bodies had been added before.
  struct Change {
    uint64_t address = 0;
    uint64_t size = 0;
    uint64_t time = 0;
    uint64_t new_address = 0;  // of a move
    BodyId adds = 0;
    BodyId made = kNoBody;  // the body that a move began
    bool move = false;
  };

  NamePool names;
  NamePool files;
  std::vector<TimedBody> bodies;
  std::vector<Extra> extra;
  std::vector<Line> lines;
  std::vector<Change> changes;

  // Behind the last byte; a size that leaves the address space ends with it.
  [[nodiscard]] uint64_t end(BodyId id) const {
    const uint64_t sum = bodies[id].address + bodies[id].size;
    return sum < bodies[id].address ? UINT64_MAX : sum;
  }
  [[nodiscard]] std::span<const Line> lines_of(BodyId id) const {
    return std::span(lines).subspan(extra[id].first_line, extra[id].line_count);
  }
  BodyId push(const TimedBody& body, const Extra& more) {
    bodies.push_back(body);
    extra.push_back(more);
    return static_cast<BodyId>(bodies.size() - 1);
  }
};

}  // namespace jitscope
