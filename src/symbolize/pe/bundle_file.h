// BundleFile: a .NET single-file program's parts: which PE image lies where in its ELF file. Reads
// the file piece by piece for the manifest's marker, then the manifest. No names of its own.
#pragma once

#include <memory>
#include <optional>

#include "base/open_file.h"
#include "formats/bundle/bundle_manifest.h"

namespace jitscope {

// Nothing: no single-file program, or not a readable one. Looks at no more than the first 256 MiB
// for the marker, which stands in the host's own data, in front of what is bundled.
[[nodiscard]] std::optional<BundleManifest> read_bundle(const OpenedFile& file);

}  // namespace jitscope
