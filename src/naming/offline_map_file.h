// OfflineMapFile: what --map FILE=PATH[:base=...] gives: the map, opened, and the name of its
// image. Documented is that FILE is the image and PATH its map; the other way around is understood
// where the files leave no doubt.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "formats/perfmap/offline_map.h"

namespace jitscope {

struct OfflineMapFile {
  OfflineMapOption option;  // `file` is the map
  std::unique_ptr<OfflineMap> map;
};

// Errors: usage; not_found and others for a map that cannot be read.
Result<OfflineMapFile> open_offline_map(const std::string& text);

}  // namespace jitscope
