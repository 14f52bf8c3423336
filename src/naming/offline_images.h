// OfflineImages: mapped files that are no ELF, named by maps that the user made beforehand
// (formats/perfmap/offline_map.h), rebased by the mapping; a map that says whose it is, is refused
// for another file.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/pe/pe_image.h"
#include "formats/perfmap/perf_map_index.h"
#include "naming/name_tables.h"
#include "naming/question.h"

namespace jitscope {

class OfflineImages : public SourceOfNames {
 public:
  // Files are looked up inside `root`.
  OfflineImages(MappedFiles& files, NameTables& tables, std::string root);
  ~OfflineImages() override;
  // "FILE=PATH[:base=file|rva|absolute]".
  Status add(const std::string& option);
  [[nodiscard]] bool any() const { return !entries_.empty(); }
  std::optional<Resolution> answer(Question& question) override;

 private:
  struct Entry;
  uint64_t image_base(const Question& question);
  Resolution name(const Question& question, uint64_t key, const PerfMapIndex::Answer& found);

  MappedFiles& files_;
  NameTables& tables_;
  std::string root_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::map<std::string, std::optional<PeHeaders>> pe_;  // by path
};

}  // namespace jitscope
