// Writes the images of `inject`: reads each dump a second time, for the bytes, lines and unwind
// tables of those bodies that are needed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "image/code_image.h"
#include "inject/plan.h"
#include "naming/resolver.h"

namespace jitscope {

struct InjectImageFile {
  std::string path;
  std::string title;
  UniqueFd fd;
};

struct WrittenImage {
  ImageSummary summary;
  bool tables = false;  // there are unwind tables, and they lie at tables_place
};

// `files`: one for each image of the plan, which is settled; taken over. What could not be had of a
// dump is told in `notes`.
Result<std::vector<WrittenImage>> write_images(const InjectPlan& plan, Resolver& resolver,
                                               std::vector<InjectImageFile>& files,
                                               const CodeImageOptions& like,
                                               std::vector<std::string>& notes);

}  // namespace jitscope
