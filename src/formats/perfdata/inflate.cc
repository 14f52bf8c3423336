// zstd, piece by piece; see inflate.h. The library bounds its window (128 MiB) by default.
#include "formats/perfdata/inflate.h"

#include <zstd.h>

namespace jitscope::perfdata {

struct Inflater::Stream {
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Free> context;
  ZSTD_inBuffer input{nullptr, 0, 0};
};

Inflater::Inflater(uint64_t free) : stream_(std::make_unique<Stream>()), free_(free) {}
Inflater::~Inflater() = default;

void Inflater::feed(std::span<const std::byte> compressed) {
  if (stream_->context == nullptr) {
    stream_->context.reset(ZSTD_createDStream());
    broken_ = broken_ || stream_->context == nullptr;
  }
  fed_ += compressed.size();
  stream_->input = {compressed.data(), compressed.size(), 0};
}

size_t Inflater::unpack(std::span<std::byte> out) {
  if (broken_) return 0;
  const size_t got = decompress(out);
  unpacked_ += got;
  if (unpacked_ > free_ && (unpacked_ - free_) / kMostGrowth > fed_) broken_ = excessive_ = true;
  return got;
}

size_t Inflater::decompress(std::span<std::byte> out) {
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  for (;;) {
    const size_t consumed = stream_->input.pos;
    const size_t produced = output.pos;
    const size_t result = ZSTD_decompressStream(stream_->context.get(), &output, &stream_->input);
    if (ZSTD_isError(result) != 0U) {
      broken_ = true;
      return output.pos;
    }
    if (output.pos == output.size) return output.pos;
    // All input gone and room left: whatever the stream still holds needs more input.
    if (stream_->input.pos == stream_->input.size) return output.pos;
    if (stream_->input.pos == consumed && output.pos == produced) {
      broken_ = true;
      return output.pos;
    }
  }
}

}  // namespace jitscope::perfdata
