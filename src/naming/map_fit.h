// MapFit: whether an offline map (formats/perfmap/offline_map.h) belongs to the image it was given
// for, and what its addresses count from. A map of another build, or of RVAs that are taken for
// file offsets, gives wrong names that look right: it is refused, with the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "code/no_name.h"
#include "formats/perfmap/offline_map.h"
#include "symbolize/pe/pe_file.h"

namespace jitscope {

struct MapFit {
  NoName why = NoName::none;  // why the map is not used
  std::string text;           // the same with what was found, "" when it is used
  OfflineMapBase base = OfflineMapBase::file;
};

// How many of a map's lines begin where functions of the image begin, when they are taken for RVAs,
// and when they are taken for file offsets.
struct StartHits {
  uint64_t starts = 0;  // of the map; at most kMostStarts are looked at
  uint64_t as_rva = 0;
  uint64_t as_file = 0;
  // All starts that hit have the same RVA and file offset.
  bool same = true;

  static constexpr uint64_t kMostStarts = 1U << 20U;
  [[nodiscard]] static StartHits of(const OfflineMap& map, PeFile& image);
};

// For a PE image, with the build-id that the recording has for its file. Its bytes are read.
[[nodiscard]] MapFit fit_to_image(const OfflineMap& map, PeFile& image,
                                  std::optional<std::string> build_id = std::nullopt);
// For any other file.
[[nodiscard]] MapFit fit_to_file(const OfflineMap& map, const MappedImageIdentity& file);

}  // namespace jitscope
