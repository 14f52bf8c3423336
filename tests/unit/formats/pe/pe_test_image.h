// An image made in code with the bytes that it looks into.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "formats/pe/pe_image.h"
#include "support/pe_builder.h"

namespace jitscope::test {

class PeFile {
 public:
  explicit PeFile(std::string bytes)
      : bytes_(std::move(bytes)),
        image_(PeImage::parse(std::as_bytes(std::span(bytes_))).value()) {}
  explicit PeFile(const PeBuilder& pe) : PeFile(pe.build()) {}
  PeFile(const PeFile&) = delete;
  PeFile& operator=(const PeFile&) = delete;

  [[nodiscard]] const PeImage& operator*() const { return image_; }

 private:
  std::string bytes_;
  PeImage image_;
};

}  // namespace jitscope::test
