// ImageStore: code images where tools look for them by build-id.
//
//  - a debug directory (gdb, elfutils, debuginfod: DIR/.build-id/xx/yyyy.debug, DIR usually
//    /usr/lib/debug or ~/.debug with its own layout, see below)
//  - perf's cache (~/.debug): DIR/.build-id/xx/yyyy, a link to DIR/jitscope/NAME/ID, a folder
//    with the file `elf`
// Only files that jitscope made are listed and removed: their unit's producer says so. Files are
// copied beside their place and renamed. Nothing is overwritten but an image of the same build-id.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace jitscope {

enum class StoreLayout : uint8_t { debug_directory, perf_cache };

// What an image says about itself.
struct ImageFacts {
  std::string build_id;  // hexadecimal
  std::string title;     // of its unit: "java (pid 12)"
  uint64_t functions = 0;
  uint64_t bytes = 0;  // that the file takes on the disk
};
// Errors: usage (no image of jitscope's), damaged, not_found.
Result<ImageFacts> image_facts(const std::string& path);

// Copies an image in; its place.
Result<std::string> install_image(const std::string& path, const std::string& directory,
                                  StoreLayout layout);

struct InstalledImage {
  std::string path;
  ImageFacts facts;
};
// By path. An empty list where the directory has none.
Result<std::vector<InstalledImage>> installed_images(const std::string& directory);

// By build-id, or the beginning of one (at least 4 digits) that only one image has; "all" for all.
// Their paths. Errors: not_found, usage (several have it).
Result<std::vector<std::string>> remove_images(const std::string& directory, std::string_view id);

}  // namespace jitscope
