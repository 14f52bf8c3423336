// Builds the content of perf.data's TRACING_DATA out of texts of formats.
#pragma once

#include <initializer_list>
#include <string_view>

#include "support/perfdata_bytes.h"

namespace jitscope::perfdata::test {

inline Bytes tracing_data(std::initializer_list<std::string_view> formats) {
  Bytes out;
  out.chars("\x17\x08\x44tracing").chars("0.6").zeros(1).u8(0).u8(8).u32(4096);
  for (const std::string_view section : {"header_page", "header_event"}) {
    out.chars(section).zeros(1).u64(3).chars("abc");
  }
  out.u32(1).u64(5).chars("ftrac");
  out.u32(1).chars("sched").zeros(1).u32(static_cast<uint32_t>(formats.size()));
  for (const std::string_view format : formats) out.u64(format.size()).chars(format);
  return out.u32(0).u32(0).u64(0);
}

}  // namespace jitscope::perfdata::test
