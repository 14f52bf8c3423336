// StableVector: a list that only grows, whose elements stay where they are.
//
// One thread adds; others may read the elements whose numbers they were told (by whatever
// synchronises the two: a queue, a join) while more are added. Elements lie in blocks, each twice
// as large as the one before; the table of blocks has a fixed size, so that nothing ever moves.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/large_pages.h"

namespace jitscope {

template <typename T>
class StableVector {
 public:
  StableVector() = default;
  StableVector(std::initializer_list<T> values) {
    for (const T& value : values) push_back(value);
  }

  // Never more than the reader may ask for, sometimes fewer than there are: for a reader, room to
  // make.
  [[nodiscard]] size_t size() const { return size_.load(std::memory_order_acquire); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  T& operator[](size_t i) {
    const Place at = place(i);
    return blocks_[at.block][at.index];
  }
  const T& operator[](size_t i) const {
    const Place at = place(i);
    return blocks_[at.block][at.index];
  }
  void push_back(T value) {
    const size_t size = size_.load(std::memory_order_relaxed);
    const Place at = place(size);
    LargeVector<T>& block = blocks_[at.block];
    if (at.index == 0) block.reserve(kFirst << at.block);
    block.push_back(std::move(value));
    size_.store(size + 1, std::memory_order_release);
  }
  // All of them, which then are no more here.
  std::vector<T> take() {
    std::vector<T> all;
    all.reserve(size());
    for (LargeVector<T>& block : blocks_) {
      for (T& each : block) all.push_back(std::move(each));
      block = LargeVector<T>();
    }
    size_.store(0, std::memory_order_release);
    return all;
  }

 private:
  static constexpr size_t kFirst = 1024;
  static constexpr unsigned kFirstBits = std::bit_width(kFirst) - 1;
  struct Place {
    size_t block = 0;
    size_t index = 0;
  };
  // Block k begins at (2^k - 1) * kFirst.
  static Place place(size_t i) {
    const size_t from_first = i + kFirst;
    const auto bits = static_cast<unsigned>(std::bit_width(from_first)) - 1;
    return {bits - kFirstBits, from_first - (size_t{1} << bits)};
  }
  // Numbers are of 32 bits.
  std::array<LargeVector<T>, 33 - kFirstBits> blocks_;
  // Written each time, in a cache line of its own.
  alignas(64) std::atomic<size_t> size_ = 0;
};

}  // namespace jitscope
