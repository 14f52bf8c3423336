// Manifests of .NET single-file programs made in code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/leb128.h"
#include "support/pe_builder.h"

namespace jitscope::test {

struct BundleBuilder {
  struct File {
    std::string path;
    uint64_t offset = 0;
    uint64_t size = 0;
    uint64_t compressed = 0;
    uint8_t kind = 1;
  };

  uint32_t major = 6;
  int64_t count = -1;  // as many as there are
  std::string id = "Ab3_x";
  std::vector<File> files;

  [[nodiscard]] std::string build() const {
    LittleBytes out;
    out.u32(major).u32(0).u32(count < 0 ? files.size() : static_cast<uint64_t>(count));
    put(out, id);
    if (major >= 2) out.zeros(40);
    for (const File& file : files) {
      out.u64(file.offset).u64(file.size);
      if (major >= 6) out.u64(file.compressed);
      out.u8(file.kind);
      put(out, file.path);
    }
    return out.bytes();
  }

  // What a host has: where the manifest lies and the bytes by which it is known.
  static std::string marker(uint64_t manifest_offset) {
    constexpr std::string_view kMarker =
        "\x8b\x12\x02\xb9\x6a\x61\x20\x38\x72\x7b\x93\x02\x14\xd7\xa0\x32"
        "\x13\xf5\xb9\xe6\xef\xae\x33\x18\xee\x3b\x2d\xce\x24\xb3\x6a\xae";
    return LittleBytes().u64(manifest_offset).text(kMarker).bytes();
  }

 private:
  static void put(LittleBytes& out, std::string_view text) {
    std::string size;
    put_uleb128(size, text.size());
    out.text(size).text(text);
  }
};

}  // namespace jitscope::test
