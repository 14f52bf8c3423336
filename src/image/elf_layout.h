// Where the bodies of an image lie in its file: in stretches, each one section and one segment.
// The rules are the same for a body that is streamed and for all of them at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/page.h"

namespace jitscope::elf_layout {

// Bodies further apart belong to different stretches.
inline constexpr uint64_t kSplitGap = 64U << 10U;
// Headers and the build-id, and a page that nobody uses: what lies before the first text when text
// is packed.
inline constexpr uint64_t kPackedHeaderRoom = 64U << 10U;
// As many stretches as there is room for program headers.
inline constexpr size_t kMostPackedStretches = 1000;
inline constexpr size_t kMostMappedStretches = 60;
// Nothing of an image lies behind this: sums of two such numbers do not overflow.
inline constexpr uint64_t kMostAddress = uint64_t{1} << 62U;

[[nodiscard]] constexpr uint64_t page_down(uint64_t value) {
  return value / kPage * kPage;
}
[[nodiscard]] constexpr uint64_t page_up(uint64_t value) {
  return page_down(value + kPage - 1);
}

struct Extent {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool bytes = false;  // its code is known
};
struct Stretch {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t offset = 0;  // in the file
  bool bytes = false;   // of any body in it
};

// `bodies`: sorted, apart from each other. `cut`: an extent that no stretch may hold.
[[nodiscard]] std::vector<Stretch> stretches_of(std::span<const Extent> bodies, size_t most,
                                                const std::optional<Extent>& cut);
// Gives offsets: one behind the other, each at its place within a page; those without bytes lie in
// the hole behind the headers. Returns the end.
[[nodiscard]] uint64_t pack(std::span<Stretch> stretches);

// The offsets that pack() will give when bodies come in the order of their addresses and make at
// most kMostPackedStretches; else some free place.
class Packer {
 public:
  uint64_t place(const Extent& body);

 private:
  bool any_ = false;
  bool ordered_ = true;
  Stretch open_;
  uint64_t next_ = kPackedHeaderRoom;  // the end of what lies before the open stretch
};

}  // namespace jitscope::elf_layout
