// What must hold for CLI metadata of any bytes: each row reads, names and signatures stay within
// their bounds. Shared by the fuzz target and by the test that replays its corpus. Empty: all is
// well.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "formats/ecma335/metadata.h"
#include "formats/ecma335/signatures.h"
#include "formats/ecma335/type_path.h"

namespace jitscope::fuzz {

inline std::string_view check_metadata(std::span<const std::byte> bytes) {
  const auto metadata = EcmaMetadata::parse(bytes);
  if (!metadata) {
    const bool known = metadata.error().kind == ErrorKind::damaged ||
                       metadata.error().kind == ErrorKind::not_possible;
    return known ? "" : "an unexpected error";
  }
  const auto some = [&](EcmaTable table) {  // and one that is not there
    return std::min(metadata->rows(table) + 1, 200U);
  };
  for (const EcmaTable table : {EcmaTable::type_def, EcmaTable::type_ref}) {
    for (uint32_t row = 0; row <= some(table); ++row) {
      const EcmaToken type{table, row};
      if (metadata->type_name(type).name.size() > EcmaMetadata::kMostName) return "a long name";
      const EcmaTypePath path = type_path(*metadata, type);
      if (path.types.size() > kMostEcmaNesting) return "a deep type";
      std::string text;
      (void)append_il_name(text, *metadata, path);
      if (text.size() > kMostEcmaText) return "a long type";
      (void)metadata->type_parameter(type, row);
    }
  }
  for (uint32_t row = 0; row <= some(EcmaTable::method_def); ++row) {
    const EcmaMember method = metadata->method(row);
    if (method.signature.size() > bytes.size()) return "a signature longer than the bytes";
    const auto text = il_method(*metadata, method.signature, method.name);
    if (text && text->size() > kMostEcmaText) return "a long signature";
    if (text && text->find(method.name) == std::string::npos) return "a signature without the name";
  }
  for (uint32_t row = 0; row <= some(EcmaTable::member_ref); ++row) {
    (void)metadata->name(metadata->member_ref(row).owner);
  }
  for (uint32_t row = 0; row <= some(EcmaTable::type_spec); ++row) {
    ByteCursor cursor(metadata->type_spec(row));
    ByteCursor skipped = cursor;
    const auto text = type_text(cursor, &*metadata, nullptr, EcmaSpelling::csharp);
    if (!text) continue;
    if (text->size() > kMostEcmaText) return "a long type";
    if (!skip_type(skipped) || skipped.offset() != cursor.offset()) return "two ends of a type";
  }
  for (uint32_t row = 0; row <= some(EcmaTable::assembly_ref); ++row) {
    (void)metadata->name({EcmaTable::assembly_ref, row});
  }
  (void)metadata->mvid();
  return "";
}

}  // namespace jitscope::fuzz
