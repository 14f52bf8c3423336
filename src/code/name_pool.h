// NamePool: texts kept once each, numbered from 0 in the order they came. Views stay valid while
// the pool lives, also when it is moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace jitscope {

class NamePool {
 public:
  uint32_t intern(std::string_view text);
  [[nodiscard]] std::string_view view(uint32_t id) const { return views_[id]; }
  [[nodiscard]] size_t size() const { return views_.size(); }

 private:
  static constexpr size_t kChunk = 64U << 10U;
  static constexpr uint32_t kFree = UINT32_MAX;

  std::string_view keep(std::string_view text);
  void grow();

  std::vector<std::string_view> views_;
  std::vector<uint32_t> hashes_;  // of the views, to compare and to grow without reading them
  std::vector<uint32_t> slots_;   // open addressing; a power of two, at most half full
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* free_ = nullptr;  // in the last chunk
  size_t free_size_ = 0;
};

}  // namespace jitscope
