// OfflineImages: mapped files that are no ELF, and PE images wherever they lie (in a single-file
// program, copied to memory), named by maps that the user made beforehand
// (formats/perfmap/offline_map.h). A map that does not fit its image (naming/map_fit.h) is refused;
// what became of each map is told at the end.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "formats/perfmap/image_loads.h"
#include "formats/perfmap/perf_map_index.h"
#include "naming/map_fit.h"
#include "naming/name_tables.h"
#include "naming/pe_images.h"
#include "naming/question.h"

namespace jitscope {

class OfflineImages : public SourceOfNames {
 public:
  // Files are looked up inside `root`.
  OfflineImages(MappedFiles& files, PeImages& images, NameTables& tables, std::string root);
  ~OfflineImages() override;
  // "FILE=PATH[:base=file|rva|absolute]".
  Status add(const std::string& option, bool tell_unused = true);
  // What a process's perfinfo-PID.map says of its images: which they are, and where they lie. Used
  // where the image itself cannot be read.
  Status add_loads(uint32_t pid, const std::string& path);
  [[nodiscard]] bool any() const { return !entries_.empty(); }
  std::optional<Resolution> answer(Question& question) override;
  // Of maps that were refused, or of no use: a line each.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  struct Entry;
  // Where the address lies, as the map counts; nothing, with the reason in the question: nowhere.
  std::optional<uint64_t> key_in_image(Entry& entry, Question& question, const PePlace& place);
  std::optional<uint64_t> key_in_file(Entry& entry, Question& question);
  // first_byte() in offline_images.cc, kept while the process maps nothing.
  std::optional<uint64_t> base_of(const Question& question);
  [[nodiscard]] bool names(const Entry& entry, const PePlace& place) const;
  Resolution name(const Question& question, const PePlace* place, uint64_t key,
                  const PerfMapIndex::Answer& found);
  [[nodiscard]] std::string unused(const Entry& entry) const;
  // Null: nothing is known of that.
  [[nodiscard]] const ImageLoad* load_of(const Question& question) const;

  MappedFiles& files_;
  PeImages& images_;
  NameTables& tables_;
  std::string root_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::map<uint32_t, std::vector<ImageLoad>> loads_;  // by pid
  struct Base {
    uint32_t growth = 0;
    std::optional<uint64_t> base;
  };
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, Base> bases_;  // life, file, first byte
};

}  // namespace jitscope
