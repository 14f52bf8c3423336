// What must hold for any offline map and any --map option; shared by the fuzz target and by the
// test that replays its corpus. The first line is the option's text, the rest the map. Empty: all
// is well.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/perfmap/image_loads.h"
#include "formats/perfmap/offline_map.h"

namespace jitscope::fuzz {

inline std::string_view check_offline_map(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view words = text.substr(0, end);
  std::optional<OfflineMapBase> base;
  if (const auto option = parse_offline_map_option(words)) {
    std::string again = option->file + '=' + option->image;
    if (option->base) again += ":base=" + std::string(to_string(*option->base));
    if (again != words) return "the option is not what was said";
    if (option->file.empty() || option->image.empty()) return "an option without a map or image";
    if (!option->names(option->image)) return "an image that is not itself";
    if (const size_t mark = option->image.rfind('!'); mark != std::string::npos) {
      const std::string_view image = option->image;
      if (!option->names_part(image.substr(0, mark), image.substr(mark + 1))) {
        return "a part that is not itself";
      }
    }
    if (const auto guid = guid_of_file_name(option->file); guid && normal_guid(*guid) != guid) {
      return "an odd guid in a name";
    }
    base = option->base;
  } else if (option.error().kind != ErrorKind::usage) {
    return "a wrong option that is no wrong usage";
  }

  const auto rest = bytes.subspan(std::min(end + 1, bytes.size()));
  Diagnostics diagnostics;
  const auto map = OfflineMap::read(memory_source(std::vector<std::byte>(rest.begin(), rest.end())),
                                    base, diagnostics);
  if (!map) return map.error().kind == ErrorKind::damaged ? "" : "an unexpected error";
  if (base && (*map)->base() != *base) return "not the base that was asked for";
  const MappedImageIdentity& identity = (*map)->identity();
  if (identity_conflict(identity, identity)) return "an identity that conflicts with itself";
  for (const std::string& guid : identity.guids) {
    if (normal_guid(guid) != guid) return "an odd guid";
  }
  if (identity.signature && normal_guid(*identity.signature) != identity.signature) {
    return "an odd signature";
  }
  for (const auto& value : {identity.system, identity.architecture, identity.abi}) {
    if (value && (value->empty() || value->size() > 32)) return "an odd value in the header";
  }
  for (const ImageLoad& load : parse_image_loads(text)) {
    if (load.path.empty() || normal_guid(load.guid) != load.guid) return "an odd image";
  }
  std::optional<uint64_t> before;
  bool sorted = true;
  (*map)->for_each_start([&](uint64_t start) {
    sorted = sorted && (!before || *before < start);
    before = start;
    return sorted;
  });
  if (!sorted) return "starts that are not in order";
  if (!(*map)->base_is_declared() && (*map)->base() != OfflineMapBase::file) return "an odd base";
  const ImageMapping mapping{0x7f0000001000, 0x1000, 0x7f0000000000};
  const auto key = (*map)->key(mapping, 0x7f0000001010);
  const uint64_t expected = (*map)->base() == OfflineMapBase::absolute ? 0x7f0000001010 : 0x1010;
  if (key != expected) return "a wrong key";
  if ((*map)->at(*key).changed) return "a line that changed";
  return {};
}

}  // namespace jitscope::fuzz
