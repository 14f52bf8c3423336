// What must hold for the methods of a ReadyToRun image of any bytes; shared by the fuzz target and
// by the test that replays its corpus. Empty: all is well.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "formats/ecma335/type_path.h"
#include "formats/r2r/r2r_image.h"

namespace jitscope::fuzz {

inline std::string_view check_r2r(std::span<const std::byte> bytes) {
  auto pe = PeImage::parse(bytes);
  if (!pe) return "";
  const auto image = R2rImage::read(std::move(*pe));
  if (!image) {
    const bool known =
        image.error().kind == ErrorKind::damaged || image.error().kind == ErrorKind::not_possible;
    return known ? "" : "an unexpected error";
  }
  if (uint64_t{image->runtime_functions()} * 12 > bytes.size()) return "more functions than bytes";
  uint32_t before = 0;
  for (size_t i = 0; i < image->methods().size(); ++i) {
    const R2rMethod& method = image->methods()[i];
    if (method.start < before || method.end < method.start) return "not in order";
    before = method.end;
    if (method.start < method.end) {
      if (image->method_at(method.end - 1) != i) return "another method at its own address";
      if (image->method_at(method.end) == i) return "a method beyond its end";
    }
    if (i > 200) continue;
    const auto name = image->name(i);
    if (!name) continue;
    if (name->full.size() > kMostEcmaText || name->arguments.size() > kMostEcmaText + 1 ||
        name->display().size() > 4 * kMostEcmaText) {
      return "a long name";
    }
    if (!name->parameters.empty() && !name->full.ends_with(name->parameters + ")")) {
      return "parameters that the name does not end with";
    }
  }
  if (image->name(image->methods().size())) return "a method too many";
  (void)image->components();
  return "";
}

}  // namespace jitscope::fuzz
