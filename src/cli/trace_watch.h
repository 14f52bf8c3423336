// TraceWatch: what a user should know while a trace runs, each thing once: that no call comes, and
// why; that more calls come than are shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probe/tracer.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

struct TraceWatchOptions {
  bool count = false;
  uint64_t limit = 0;
  uint64_t every = 0;
};

class TraceWatch {
 public:
  TraceWatch(const TraceWatchOptions& options, CodeSource& source, Tracer& tracer);

  // Called again and again; `shown` calls were printed up to now. Lines for the user, mostly none.
  std::vector<std::string> look(uint64_t shown);

 private:
  TraceWatchOptions options_;
  CodeSource& source_;
  Tracer& tracer_;
  uint64_t begin_ns_;
  uint64_t looked_ns_;
  uint64_t calls_ = 0;
  bool silence_told_ = false;
  bool flood_told_ = false;
};

}  // namespace jitscope
