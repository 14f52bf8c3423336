// InjectPlan: which image of `inject` each body goes to, and where in it it lies.
//
// Bodies get their image when they are first needed, and their place when all are known. In an
// image, the first body at an address keeps its distance to the others (the file is sparse), so
// that one load address serves all of it. Later bodies at the same addresses, and those that lie
// too far away, are packed behind; where unwinders will look (`tables`), they get an image of their
// own instead, as long as there are not too many.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "naming/resolver.h"

namespace jitscope {

// A body as it goes into an image.
struct PlannedCode {
  const LoadedDump* dump = nullptr;  // null: nothing but the name is known
  BodyId body = kNoBody;
  uint64_t start = 0;
  uint64_t size = 0;
  FrameId frame = kNoFrame;            // none: it is as the dump calls it
  std::span<const std::byte> bytes{};  // without a dump: what is known of its code
  uint32_t jit = 0;                    // its Location::jit; 0: nobody asked for it
  uint32_t image = 0;
  bool packed = false;
  uint64_t place = 0;  // after settle()
  static constexpr FrameId kNoFrame = UINT32_MAX;
};

struct PlannedImage {
  uint32_t pid = 0;
  uint32_t number = 0;  // of the process's images, from 1
  std::vector<uint32_t> codes;
  // Addresses of those that are not packed, and all of them together.
  std::map<uint64_t, uint64_t> taken;
  uint64_t low = UINT64_MAX;
  uint64_t high = 0;
  // After settle(). `base`: an address is place + base where nothing is packed.
  bool sparse = false;
  uint64_t base = 0;
  // What unwinders need: a few bytes that begin the image's code, and room for tables. 0: none.
  uint64_t anchor_place = 0;
  uint64_t tables_place = 0;
  uint64_t tables_room = 0;
};

class InjectPlan {
 public:
  static constexpr uint64_t kAnchorSize = 16;
  static constexpr uint64_t kMostSpan = uint64_t{1} << 30U;
  static constexpr uint32_t kMostImages = 64;  // of a process, for the sake of unwinders

  // `tables`: the recording has stacks that perf will unwind.
  explicit InjectPlan(bool tables) : tables_(tables) {}

  [[nodiscard]] bool tables() const { return tables_; }
  // The number of a body, by its number in the resolver; its image is there from now on.
  uint32_t need(uint32_t jit, const JitCode& code, uint32_t pid);
  // All other bodies of the dumps that are needed.
  void need_all();
  // Addresses that were mapped at any time: unwind tables must keep away from them.
  void mapped(uint64_t start, uint64_t end);
  // Gives every body its place.
  void settle();

  [[nodiscard]] const PlannedCode& code(uint32_t number) const { return codes_[number]; }
  [[nodiscard]] const std::vector<PlannedCode>& codes() const { return codes_; }
  [[nodiscard]] const std::vector<PlannedImage>& images() const { return images_; }

 private:
  // `own_image`: an image is made for it where it fits in none.
  uint32_t add(PlannedCode code, uint32_t process, bool own_image);
  uint32_t image_for(const PlannedCode& code, uint32_t process, bool own_image, bool& packed);
  void settle(PlannedImage& image);
  // One behind the other, each at the same place modulo `modulus` as in the process; the end.
  uint64_t pack(std::span<const uint32_t> numbers, uint64_t from, uint64_t modulus);
  // A hole of `size` bytes below `limit`, not more than kMostSpan away; 0: none.
  [[nodiscard]] uint64_t hole_below(uint64_t limit, uint64_t size) const;

  bool tables_;
  std::vector<PlannedCode> codes_;
  std::vector<PlannedImage> images_;
  std::unordered_map<uint32_t, uint32_t> numbers_;                 // by resolver's number
  std::unordered_map<const LoadedDump*, uint32_t> dump_owners_;    // the pid that needed it first
  std::unordered_map<uint32_t, std::vector<uint32_t>> images_of_;  // by pid
  std::map<uint64_t, uint64_t> mapped_;                            // start, end; merged
};

}  // namespace jitscope
