// See bundle_file.h.
#include "symbolize/pe/bundle_file.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "symbolize/pe/read_part.h"

namespace jitscope {
namespace {

constexpr uint64_t kMostSearched = uint64_t{256} << 20U;
constexpr uint64_t kMostManifest = uint64_t{64} << 20U;
constexpr size_t kPiece = size_t{1} << 20U;

}  // namespace

std::optional<BundleManifest> read_bundle(const OpenedFile& file) {
  const auto size = static_cast<uint64_t>(file.status.st_size);
  std::vector<std::byte> piece(kPiece + kBundleMarkerReach);
  std::optional<uint64_t> header;
  for (uint64_t at = 0; at < std::min(size, kMostSearched) && !header; at += kPiece) {
    const size_t got = read_part(file.fd.get(), at, piece);
    if (got == 0) break;
    header = find_bundle_header(std::span<const std::byte>(piece).first(got), size);
  }
  if (!header || *header >= size) return std::nullopt;
  std::vector<std::byte> bytes(std::min(size - *header, kMostManifest));
  bytes.resize(read_part(file.fd.get(), *header, bytes));
  auto manifest = BundleManifest::parse(bytes, size);
  if (!manifest) return std::nullopt;
  return std::move(*manifest);
}

}  // namespace jitscope
