// ImageSet: the code images that one source of bodies becomes: one ELF file in which every body
// lies at its own address, and further ones for bodies of other times at the same addresses.
//
//  - real addresses: OUT holds what lay there last; OUT.2, OUT.3 ... what lay there before, so that
//    no two bodies of different times lie on each other.
//  - packed: one file, in which each body has a place of its own, one behind the other.
// Files get their names at the end; an unfinished set leaves nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "base/result.h"
#include "image/code_image.h"

namespace jitscope {

struct ImageSetOptions {
  std::string output;  // of the first image
  // The folder of `output`, when it is one to be filled with images (base/output_folder.h).
  std::shared_ptr<const UniqueFd> folder;
  bool packed = false;
  bool force = false;  // replace files that are there
  CodeImageOptions image;
};

struct BuiltImage {
  std::string path;
  ImageSummary summary;
};

// Which image a body belongs to: the first one where nothing else lies. Ask in the order of who has
// the first right to it.
class EpochPlan {
 public:
  // Empty: more than kMostEpochs bodies lie on each other there.
  std::optional<uint32_t> place(uint64_t address, uint64_t size);
  // Each is an open file, with buffers of its own, until all are complete.
  static constexpr uint32_t kMostEpochs = 128;

 private:
  std::vector<std::map<uint64_t, uint64_t>> taken_;  // begin -> end
};

class ImageSet {
 public:
  // Errors: usage when an output is there already.
  static Result<ImageSet> create(ImageSetOptions options);
  ImageSet(ImageSet&&) noexcept = default;
  ImageSet& operator=(ImageSet&&) noexcept = default;
  ~ImageSet() = default;

  Status add(ImageBody body, uint32_t epoch);
  // All of them, the first one first; none when nothing was added.
  Result<std::vector<BuiltImage>> finish();

 private:
  explicit ImageSet(ImageSetOptions options) : options_(std::move(options)) {}
  struct Open {
    OutputFile file;
    CodeImage image;
  };
  Status open(uint32_t epoch);
  static Result<OutputFile> create_file(const ImageSetOptions& options, std::string path);

  ImageSetOptions options_;
  std::map<uint32_t, Open> images_;
  uint64_t next_place_ = kImageHeaderRoom;  // packed
};

}  // namespace jitscope
