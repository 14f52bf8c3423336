// PeImages: which PE image, if any, an address of a process lies in, and where in it. By the file
// that is mapped there (a PE image, or a single-file program that has one at that offset); in
// anonymous memory by the image's header, which a loader maps in front of it.
//
// Files are opened once, below the recording's root, and refused when they are not the ones that
// ran. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "code/address_space.h"
#include "formats/bundle/bundle_manifest.h"
#include "naming/jit_sources.h"
#include "naming/question.h"
#include "replay/mapped_files.h"
#include "symbolize/pe/pe_file.h"

namespace jitscope {

// Where a question's address lies in an image.
struct PePlace {
  PeFile* image = nullptr;  // null: `why` says why it is not read
  NoName why = NoName::none;
  uint32_t file = kNoFile;  // MappedFiles' number of the file that the image is in
  uint32_t rva = 0;
  std::optional<uint64_t> file_offset;  // in the image's own file or part; nothing: only in memory
  bool in_bundle = false;
};

// An image that addresses were looked up in.
struct PeStory {
  std::string path;    // "HOST!ENTRY" of a part
  std::string names;   // what named it, or why nothing did
  std::string advice;  // what would name more; may be empty
};

class PeImages {
 public:
  PeImages(SourceContext& context, const NamingOptions& options);
  ~PeImages();

  // Nothing: no PE image is there.
  std::optional<PePlace> at(const Question& question);
  // By path.
  [[nodiscard]] std::vector<PeStory> stories() const;

 private:
  struct Entry;
  // What was found in front of a mapping, the last time.
  struct Header {
    uint32_t life = UINT32_MAX;
    uint32_t growth = 0;
    uint64_t range = 0;
    uint64_t start = 0;
    uint32_t file = kNoFile;  // none
  };
  const Header& header_before(const Question& question);
  Entry& entry(uint32_t file);
  void open(Entry& entry, const MappedFileInfo& info);
  std::optional<PePlace> in_file(uint32_t file, uint64_t offset);
  std::optional<PePlace> in_memory(const Question& question);
  [[nodiscard]] NoName why_not_same(const MappedFileInfo& info, const OpenedFile& file) const;

  SourceContext& context_;
  const NamingOptions& options_;
  Header header_;
  std::map<uint32_t, std::unique_ptr<Entry>> entries_;  // by MappedFiles' number
};

}  // namespace jitscope
