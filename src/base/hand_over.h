// HandOver: a queue of pointers from one thread to another, or back.
//
// Who owns what goes through it is the users' agreement; here nothing is made or freed. Giving
// never waits. Waking a thread costs more than most items are worth (tens of microseconds in a
// virtual machine), so one that found the queue empty sleeps until a few are there.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

namespace jitscope {

template <typename T>
class HandOver {
 public:
  explicit HandOver(size_t few) : few_(few) {}

  void give(T* item) {
    bool wake = false;
    {
      const std::lock_guard lock(mutex_);
      items_.push_back(item);
      wake = wanted_ != 0 && items_.size() >= wanted_;
    }
    if (wake) changed_.notify_one();
  }
  // The one that was given first; waits until there are a few. nullptr: closed, and none is left.
  T* take() {
    std::unique_lock lock(mutex_);
    if (items_.empty()) wait(lock, few_);
    if (items_.empty()) return nullptr;
    T* const item = items_.front();
    items_.pop_front();
    return item;
  }
  // The one that was given last, because its memory is warm; else as take().
  T* take_last() {
    std::unique_lock lock(mutex_);
    if (items_.empty()) wait(lock, few_);
    if (items_.empty()) return nullptr;
    T* const item = items_.back();
    items_.pop_back();
    return item;
  }
  // Waits until so many are there at once. False: closed.
  bool wait_for(size_t count) {
    std::unique_lock lock(mutex_);
    wait(lock, count);
    return !closed_;
  }
  // While somebody waits for each item: a few are one.
  void hurry(bool on) {
    {
      const std::lock_guard lock(mutex_);
      hurried_ = on;
    }
    changed_.notify_all();
  }
  // Nothing more will be given.
  void close() { end(false); }
  // And what was given is not wanted.
  void cancel() { end(true); }

 private:
  void wait(std::unique_lock<std::mutex>& lock, size_t count) {
    const auto wanted = [&] { return hurried_ && count == few_ ? 1 : count; };
    changed_.wait(lock, [&] {
      wanted_ = wanted();
      return items_.size() >= wanted_ || closed_;
    });
    wanted_ = 0;
  }
  void end(bool forget) {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      if (forget) items_.clear();
    }
    changed_.notify_all();
  }

  const size_t few_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T*> items_;
  size_t wanted_ = 0;  // by the one that waits; 0: nobody does
  bool hurried_ = false;
  bool closed_ = false;
};

}  // namespace jitscope
