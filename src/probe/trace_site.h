// What a trace knows of one body that it watches, or watched, or could not probe; and the report of
// a method made of those.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "code/code_body.h"
#include "probe/backend.h"
#include "probe/site_placer.h"
#include "probe/tracer.h"

namespace jitscope {

struct TraceSite {
  uint32_t id = 0;
  size_t method = 0;
  CodeBody body;
  const Backend* backend = nullptr;  // that placed it, or tried last
  SitePlacer* placer = nullptr;      // of that backend
  bool placed = false;
  bool active = false;
  bool borrowed = false;  // SiteOutcome::borrowed
  std::string reason;
  uint64_t not_before_ns = 0;  // it was not there yet; 0: it may always have been
  uint64_t since_ns = 0;
  uint64_t until_ns = 0;
};

// Why bodies are not probed, a line a reason.
[[nodiscard]] std::vector<std::string> refusals(const std::deque<TraceSite>& sites);

// Adds a site of the method, and its counts, to the method's report.
void add_site(MethodReport& report, const TraceSite& site, const HitCounts& counts);

}  // namespace jitscope
