// A hash of an image's content: 20 bytes, as a build-id has. XXH3: against accidents, not against
// malice (nothing is proved by a build-id).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace jitscope {

inline constexpr size_t kBuildIdSize = 20;

using ContentDigest = std::array<std::byte, 16>;
[[nodiscard]] ContentDigest content_digest(std::span<const std::byte> bytes);

// Over numbers and digests, in the order they come.
class BuildIdHash {
 public:
  BuildIdHash();
  void add(uint64_t number);
  void add(const ContentDigest& digest);
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] std::array<std::byte, kBuildIdSize> finish() const;

 private:
  struct Free {
    void operator()(void* state) const;
  };
  std::unique_ptr<void, Free> state_;
};

}  // namespace jitscope
