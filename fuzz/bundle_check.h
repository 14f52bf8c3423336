// What must hold for any bytes as a host with a marker, and as a manifest; shared by the fuzz
// target and by the test that replays its corpus. Empty: all is well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "formats/bundle/bundle_manifest.h"

namespace jitscope::fuzz {

inline std::string_view check_manifest(std::span<const std::byte> bytes, uint64_t file_size) {
  const auto manifest = BundleManifest::parse(bytes, file_size);
  if (!manifest) return manifest.error().kind == ErrorKind::damaged ? "" : "an unexpected error";
  // Each takes 18 bytes or more.
  if ((manifest->entries.size() + manifest->outside.size()) * 18 > bytes.size()) {
    return "more entries than bytes";
  }
  uint64_t last = 0;
  for (const BundleEntry& entry : manifest->entries) {
    if (entry.offset < last) return "entries out of order";
    last = entry.offset;
    if (entry.stored() > file_size || entry.offset > file_size - entry.stored()) {
      return "an entry outside of the file";
    }
    const BundleEntry* found = manifest->at(entry.offset);
    if (entry.stored() != 0 && (found == nullptr || found->offset != entry.offset)) {
      return "an entry that is not found";
    }
  }
  return "";
}

inline std::string_view check_bundle(std::span<const std::byte> bytes) {
  for (const uint64_t size : {uint64_t{bytes.size()}, UINT64_MAX}) {
    if (const std::string_view wrong = check_manifest(bytes, size); !wrong.empty()) return wrong;
  }
  const auto header = find_bundle_header(bytes, bytes.size());
  if (!header) return "";
  if (*header == 0 || *header >= bytes.size()) return "a manifest outside of the file";
  return check_manifest(bytes.subspan(*header), bytes.size());
}

}  // namespace jitscope::fuzz
