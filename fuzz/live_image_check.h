// What must hold for any bytes given to parse_live_image; shared by the fuzz target and by the test
// that replays its corpus. Empty: all is well.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "live_image/live_image.h"

namespace jitscope::fuzz {

inline std::string_view check_live_image(std::span<const std::byte> bytes) {
  const auto image = parse_live_image(bytes);
  const bool looks = looks_like_live_image(bytes.first(std::min<size_t>(bytes.size(), 4096)));
  if (!image) {
    const bool not_ours = image.error().kind == ErrorKind::not_found;
    return looks == not_ours ? "the two recognisers disagree" : std::string_view{};
  }
  if (!looks) return "parsed what does not look like an image";
  if (image->text_begin >= image->text_end || image->text_begin > bytes.size()) {
    return "text before the table's end, or a table beyond the bytes";
  }
  // Each record, good or bad, came from 64 bytes that are there.
  if ((image->records.size() + image->damaged_records) * 64 > bytes.size()) {
    return "more records than bytes";
  }
  for (const ImageRecord& record : image->records) {
    if (record.entry == 0 || record.original_length < 5 ||
        record.original_length > live_image_max_original ||
        record.slot_offset < image->text_begin || record.slot_offset >= image->text_end) {
      return "a record that makes no sense";
    }
  }
  return {};
}

}  // namespace jitscope::fuzz
