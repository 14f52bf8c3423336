// See bundle_file.h.
#include "symbolize/pe/bundle_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/byte_cursor.h"

namespace jitscope {
namespace {

constexpr uint64_t kMostSearched = uint64_t{256} << 20U;
constexpr uint64_t kMostManifest = uint64_t{64} << 20U;
constexpr size_t kPiece = size_t{1} << 20U;

size_t read_at(int fd, std::span<std::byte> into, uint64_t offset) {
  size_t have = 0;
  while (have < into.size()) {
    const ssize_t got =
        ::pread(fd, into.data() + have, into.size() - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<size_t>(got);
  }
  return have;
}

}  // namespace

std::optional<BundleManifest> read_bundle(const OpenedFile& file) {
  const auto size = static_cast<uint64_t>(file.status.st_size);
  std::vector<std::byte> piece(kPiece + kBundleMarkerReach);
  std::optional<uint64_t> header;
  for (uint64_t at = 0; at < std::min(size, kMostSearched) && !header; at += kPiece) {
    const size_t got = read_at(file.fd.get(), piece, at);
    if (got == 0) break;
    header = find_bundle_header(std::span<const std::byte>(piece).first(got), size);
  }
  if (!header || *header >= size) return std::nullopt;
  std::vector<std::byte> bytes(std::min(size - *header, kMostManifest));
  bytes.resize(read_at(file.fd.get(), bytes, *header));
  auto manifest = BundleManifest::parse(bytes, size);
  if (!manifest) return std::nullopt;
  return std::move(*manifest);
}

}  // namespace jitscope
