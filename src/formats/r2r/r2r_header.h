// What kind of .NET image a PE file is, and the sections of a ReadyToRun image (dotnet/runtime:
// docs/design/coreclr/botr/readytorun-format.md). No system calls.
//
// The bytes are hostile: the table of sections is as long as the bytes that are there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/pe/pe_image.h"

namespace jitscope {

enum class R2rKind : uint8_t {
  ready_to_run,
  composite,  // the code of several assemblies, which have files of their own
  component,  // one of those: it only names the composite image
  ngen,       // the format before ReadyToRun; only the bounds of its functions can be read
  il_only,    // .NET without native code
  native,     // not .NET
};
[[nodiscard]] std::string_view describe(R2rKind kind);

enum class R2rSection : uint32_t {
  runtime_functions = 102,
  method_entries = 103,
  instance_entries = 109,
  manifest_metadata = 112,
  component_assemblies = 115,
  owner_composite = 116,
  hot_cold_map = 120,
};

struct R2rSections {
  uint32_t flags = 0;
  struct Row {
    uint32_t type = 0;
    PeDirectory where;
  };
  std::vector<Row> rows;

  // Empty: there is none.
  [[nodiscard]] PeDirectory at(R2rSection type) const;
  // Flags, number of rows, rows.
  [[nodiscard]] static Result<R2rSections> read(ByteCursor& cursor);
};

struct R2rHeader {
  R2rKind kind = R2rKind::native;
  uint16_t major = 0;
  uint16_t minor = 0;
  PeDirectory metadata;  // of IL; a composite image has none
  R2rSections sections;

  // An error only for bytes that make no sense; what is no ReadyToRun image is told by `kind`.
  [[nodiscard]] static Result<R2rHeader> read(const PeImage& image);
  // Where the metadata of a CLI header lies.
  [[nodiscard]] static PeDirectory metadata_of(const PeImage& image, PeDirectory cli_header);
};

}  // namespace jitscope
