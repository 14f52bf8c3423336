#include "symbolize/mini_debug_info.h"

#include <lzma.h>

#include <algorithm>

#include "base/work_limit.h"

namespace jitscope {
namespace {

// What a few kilobytes of xz become is only known when they have: both in memory and in time the
// result is bounded. The largest real ones are some 10 MB.
constexpr size_t most_bytes = size_t{256} << 20;
constexpr uint64_t most_decoder_memory = uint64_t{128} << 20;

std::vector<std::byte> unpack(std::span<const uint8_t> packed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, most_decoder_memory, 0) != LZMA_OK) return {};
  std::vector<std::byte> result;
  stream.next_in = packed.data();
  stream.avail_in = packed.size();
  lzma_ret state = LZMA_OK;
  while (state == LZMA_OK && result.size() < most_bytes && !WorkLimit::over()) {
    const size_t before = result.size();
    result.resize(std::min(most_bytes, std::max(size_t{1} << 16, before * 2)));
    stream.next_out = reinterpret_cast<uint8_t*>(result.data()) + before;
    stream.avail_out = result.size() - before;
    while (state == LZMA_OK && stream.avail_out != 0 && !WorkLimit::over()) {
      // A piece at a time: all of it may be minutes of work.
      const size_t rest = stream.avail_out - std::min(stream.avail_out, size_t{1} << 22);
      stream.avail_out -= rest;
      state = lzma_code(&stream, LZMA_FINISH);
      stream.avail_out += rest;
    }
    result.resize(result.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (state != LZMA_STREAM_END) return {};
  result.shrink_to_fit();
  return result;
}

}  // namespace

std::unique_ptr<ElfFile> mini_debug_info(const ElfFile& file) {
  const auto* section = file.filled_section(".gnu_debugdata");
  const Elf_Data* data = section != nullptr ? file.data(*section) : nullptr;
  if (data == nullptr) return nullptr;
  auto bytes = unpack({static_cast<const uint8_t*>(data->d_buf), data->d_size});
  if (bytes.empty()) return nullptr;
  auto inner = ElfFile::from_memory(std::move(bytes), file.path() + " (.gnu_debugdata)");
  return inner ? std::move(*inner) : nullptr;
}

}  // namespace jitscope
