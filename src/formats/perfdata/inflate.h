// The one zstd stream that runs through all COMPRESSED records of a recording.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace jitscope::perfdata {

class Inflater {
 public:
  Inflater();
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // The next compressed bytes. Once a part was damaged nothing after it can be unpacked.
  void feed(std::span<const std::byte> compressed);
  // Unpacks into `out`: how many bytes it holds now, 0 when more must be fed or when broken().
  size_t unpack(std::span<std::byte> out);
  [[nodiscard]] bool broken() const { return broken_; }
  void give_up() { broken_ = true; }

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
  bool broken_ = false;
};

}  // namespace jitscope::perfdata
