// The first bytes of a perf.data file or pipe, and what they lead to: attributes and features.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/diagnostics.h"
#include "base/result.h"
#include "formats/perfdata/features.h"
#include "formats/perfdata/input.h"

namespace jitscope::perfdata {

struct FileHeader {
  struct Section {
    uint64_t offset = 0;
    uint64_t size = 0;
  };
  bool pipe = false;
  uint64_t attr_size = 0;  // an attribute and the section of its ids
  Section attrs;
  Section data;
  std::array<uint64_t, 4> features{};  // bitmap
};

// Reads the header: 16 bytes of a pipe, 104 of a file (or of a file that comes through a pipe).
Result<FileHeader> read_file_header(Input& input);

// The attributes of a file; a pipe brings them as records.
Status read_events(Input& input, const FileHeader& header, Gatherer& gatherer);

// The features of a file, whose sections are listed behind its data. Damage is noted.
Status read_features(Input& input, const FileHeader& header, Gatherer& gatherer,
                     Diagnostics& diagnostics);

}  // namespace jitscope::perfdata
