// OfflineImages: mapped files that are no ELF, named by maps that the user made beforehand
// (formats/perfmap/offline_map.h), rebased by the mapping; a map that says whose it is, is refused
// for another file.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/pe/pe_sections.h"
#include "naming/resolver.h"

namespace jitscope {

class OfflineImages {
 public:
  // Files are looked up inside `root`.
  explicit OfflineImages(std::string root);
  ~OfflineImages();
  // "FILE=PATH[:base=file|rva|absolute]".
  Status add(const std::string& option);
  // Names `lookup` when a map is for the mapped file; else false, with `reason` when one was
  // refused.
  bool resolve(Resolution& out, const ProcessLife& life, const MappedRange& range,
               const MappedFileInfo& file, uint64_t lookup, const AddressQuery& query,
               FrameTable& frames, NoName& reason);

 private:
  struct Entry;
  uint64_t image_base(const ProcessLife& life, const MappedRange& range, const MappedFileInfo& file,
                      uint64_t lookup);

  std::string root_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::map<std::string, std::optional<PeSections>> pe_;  // by path
};

}  // namespace jitscope
