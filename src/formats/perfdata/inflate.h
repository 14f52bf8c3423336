// The one zstd stream that runs through all COMPRESSED records of a recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace jitscope::perfdata {

class Inflater {
 public:
  // A few kilobytes can stand for terabytes. perf's own streams are some 30 times smaller than what
  // they hold.
  static constexpr uint64_t kMostGrowth = 256;
  static constexpr uint64_t kFree = uint64_t{1} << 30U;

  // `free`: bytes that may come out before what comes out is compared with what went in.
  explicit Inflater(uint64_t free = kFree);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // The next compressed bytes. Once a part was damaged nothing after it can be unpacked.
  void feed(std::span<const std::byte> compressed);
  // Unpacks into `out`: how many bytes it holds now, 0 when more must be fed or when broken().
  size_t unpack(std::span<std::byte> out);
  [[nodiscard]] bool broken() const { return broken_; }
  // Broken because more came out than is sensible.
  [[nodiscard]] bool excessive() const { return excessive_; }
  void give_up() { broken_ = true; }

 private:
  struct Stream;
  size_t decompress(std::span<std::byte> out);

  std::unique_ptr<Stream> stream_;
  uint64_t free_;
  uint64_t fed_ = 0;
  uint64_t unpacked_ = 0;
  bool broken_ = false;
  bool excessive_ = false;
};

}  // namespace jitscope::perfdata
