// WorkLimit: how long a piece of work may take that strangers decide the size of.
//
// Files and memory of other users can be made so that looking at them takes hours: each of our
// bounds of size is one of memory first. So whoever starts such work says how long it may take, for
// as long as the object lives, and the loops that do it ask over() now and then, however deep they
// lie. The limit is the thread's: one inside another only makes it shorter. Work that was broken
// off says so by a reason of its own; it never looks like work that found nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace jitscope {

class WorkLimit {
 public:
  // `time` counts where the thread itself worked for half of it: on a machine with too much to do
  // work that is not slow would end too. Eight times as long is the end in any case.
  // `stop`: asked by over() too, so that an interrupt ends the work (empty: nothing but the time
  // does).
  explicit WorkLimit(std::chrono::nanoseconds time, std::function<bool()> stop = {});
  ~WorkLimit();
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;

  // Whether the work of this thread has to end; false where nobody set a limit. Reads the clock:
  // for loops with small steps there is WorkMeter.
  [[nodiscard]] static bool over();
  // Since this limit was set.
  [[nodiscard]] std::chrono::nanoseconds used() const;

 private:
  [[nodiscard]] bool expired(uint64_t now) const;

  WorkLimit* outer_;
  uint64_t begin_;
  uint64_t cpu_begin_;
  uint64_t time_;
  std::function<bool()> stop_;
  bool over_ = false;  // stays so
};

// WorkLimit::over() for loops whose steps cost less than a look at the clock.
class WorkMeter {
 public:
  explicit WorkMeter(uint32_t steps = 4096) : steps_(steps), left_(steps) {}
  [[nodiscard]] bool over() {
    if (--left_ != 0) return false;
    left_ = steps_;
    return WorkLimit::over();
  }

 private:
  uint32_t steps_;
  uint32_t left_;
};

// WorkBudget: the time that pieces of work may take together, and each of them at most.
class WorkBudget {
 public:
  WorkBudget(std::chrono::nanoseconds all, std::chrono::nanoseconds piece)
      : left_(all), piece_(piece) {}

  [[nodiscard]] bool spent() const { return left_ <= std::chrono::nanoseconds(0); }

  // One piece: a WorkLimit, whose time is taken off at its end.
  class Piece {
   public:
    explicit Piece(WorkBudget& budget)
        : budget_(budget), limit_(budget.left_ < budget.piece_ ? budget.left_ : budget.piece_) {}
    ~Piece() { budget_.left_ -= limit_.used(); }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

   private:
    WorkBudget& budget_;
    WorkLimit limit_;
  };

 private:
  std::chrono::nanoseconds left_;
  std::chrono::nanoseconds piece_;
};

}  // namespace jitscope
