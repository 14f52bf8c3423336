// image build: code images out of whatever knows code bodies: a live process, a jitdump, a perf
// map, the folder that jitscope record left, a PE image.
//
// Symbols are canonical: "java.util.HashMap.put", with an alias that carries the parameters where
// there are any. Nothing is stopped or changed; what could not be written down is in the notes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "export/image_set.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

struct ImageBuild {
  std::vector<BuiltImage> images;
  std::string source;  // "HotSpot structures in memory", "jitdump /tmp/jit-12.dump"
  uint64_t bodies = 0;
  uint64_t with_bytes = 0;
  uint64_t with_lines = 0;
  std::vector<std::string> notes;
};

// not_found when there are no bodies.
Result<ImageBuild> image_of_process(pid_t pid, const SourceOptions& source,
                                    ImageSetOptions options);
Result<ImageBuild> image_of_jitdump(const std::string& path, ImageSetOptions options);
// A PE image, "HOST!ENTRY" of a .NET single-file program. Addresses are those that its linker
// chose.
Result<ImageBuild> image_of_pe(const std::string& path, ImageSetOptions options);
Result<ImageBuild> image_of_perf_map(const std::string& path, ImageSetOptions options);

// The dumps in the folder beside a recording.
struct RecordedDump {
  std::string path;
  uint32_t pid = 0;
};
Result<std::vector<RecordedDump>> recorded_dumps_of(const std::string& recording);

// "java.util.HashMap.put" of "java.util.HashMap.put(java.lang.Object)"; other names as they are.
[[nodiscard]] std::string_view without_parameters(std::string_view name);

}  // namespace jitscope
