// The manifest of a .NET single-file program: which of its files lie where in the host's ELF file.
// Format: dotnet/runtime's docs/design/features and src/native/corehost/bundle (versions 1 to 6).
// No system calls: the caller reads the file, first piece by piece for the marker, then the
// manifest.
//
// Bounds: time and memory by the bytes that are given; of a count nothing is taken on trust.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace jitscope {

enum class BundleFileKind : uint8_t {
  unknown,
  assembly,
  native,
  deps_json,
  runtime_config,
  symbols,
};

struct BundleEntry {
  std::string path;         // as the manifest says, relative, may be anything
  uint64_t offset = 0;      // in the host's file
  uint64_t size = 0;        // of the file when it is unpacked
  uint64_t compressed = 0;  // how many bytes lie there; 0: all of them, as they are
  BundleFileKind kind = BundleFileKind::unknown;

  [[nodiscard]] uint64_t stored() const { return compressed != 0 ? compressed : size; }
};

struct BundleManifest {
  uint32_t major = 0;
  uint32_t minor = 0;
  std::string id;
  std::vector<BundleEntry> entries;  // by offset
  std::vector<std::string> outside;  // paths of those that are not all in the file, left out above

  // `bytes`: from the header to the file's end, or less when they are too many; `file_size`: the
  // host's. damaged: no manifest, or it does not end within the bytes.
  static Result<BundleManifest> parse(std::span<const std::byte> bytes, uint64_t file_size);

  // The entry that this byte of the file belongs to.
  [[nodiscard]] const BundleEntry* at(uint64_t offset) const;
};

// Before the marker's bytes stands where the manifest begins. Who reads a file piecewise has so
// many bytes of one piece stand again at the beginning of the next.
inline constexpr size_t kBundleMarkerReach = 8 + 32;

// Where the manifest begins, if the marker of a host is in these bytes. A host that is no bundle
// has the marker with 0, and other programs have it with anything: what is not in the file is
// passed over.
[[nodiscard]] std::optional<uint64_t> find_bundle_header(std::span<const std::byte> bytes,
                                                         uint64_t file_size);

}  // namespace jitscope
