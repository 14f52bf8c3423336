// The formats of a recording's tracepoints, by event: read when the first payload is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "formats/perfdata/reader.h"
#include "formats/perfdata/trace_format.h"

namespace jitscope {

class TraceFormats {
 public:
  explicit TraceFormats(const perfdata::Header& header) : header_(header) {}
  // Null when the sample has no payload, or the recording does not describe it.
  const perfdata::TraceFormat* of(const perfdata::Sample& sample);

 private:
  void load();

  const perfdata::Header& header_;
  std::unordered_map<uint64_t, perfdata::TraceFormat> formats_;  // by id
  // Of the header when it was read: a pipe's grows.
  size_t events_ = 0;
  size_t bytes_ = 0;
  size_t loads_ = 0;
};

}  // namespace jitscope
