// See pe_identity.h.
#include "symbolize/pe/pe_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "formats/ecma335/metadata.h"
#include "formats/r2r/r2r_header.h"

namespace jitscope {
namespace {

std::string digits_of(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte each : bytes) out += fmt::format("{:02x}", static_cast<unsigned>(each));
  return out;
}

// In a file the first three fields of a GUID are little-endian numbers; its spelling has their most
// significant digits first.
std::string spelled(std::array<std::byte, 16> guid) {
  std::reverse(guid.begin(), guid.begin() + 4);
  std::reverse(guid.begin() + 4, guid.begin() + 6);
  std::reverse(guid.begin() + 6, guid.begin() + 8);
  return digits_of(guid);
}

std::optional<EcmaMetadata::Mvid> mvid_of(PeFile& file) {
  if (const R2rImage* r2r = file.ready_to_run(); r2r != nullptr && r2r->metadata() != nullptr) {
    return r2r->metadata()->mvid();
  }
  const auto image = PeImage::parse(file.bytes());
  if (!image) return std::nullopt;
  const auto header = R2rHeader::read(*image);
  if (!header) return std::nullopt;
  const auto metadata = EcmaMetadata::parse(image->bytes(header->metadata));
  return metadata ? metadata->mvid() : std::nullopt;
}

}  // namespace

PeIdentity PeIdentity::of(PeFile& image) {
  PeIdentity out;
  if (const auto mvid = mvid_of(image)) out.guids.push_back(spelled(*mvid));
  const PeDebugEntries& debug = image.debug_entries();
  if (debug.code_view) {
    out.code_view = spelled(debug.code_view->guid);
    out.guids.push_back(*out.code_view);
  }
  if (debug.perf_map) out.perf_map_signature = digits_of(debug.perf_map->signature);
  return out;
}

}  // namespace jitscope
