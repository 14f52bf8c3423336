// What a trace knows of one body that it watches, or watched, or could not probe; and the report of
// a method made of those.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "code/code_body.h"
#include "probe/foreign_slots.h"
#include "probe/site.h"
#include "probe/tracer.h"

namespace jitscope {

struct TraceSite {
  uint32_t id = 0;
  size_t method = 0;
  CodeBody body;
  Backend backend = Backend::trampoline;
  bool placed = false;
  bool active = false;
  // It counts, or counted, in another jitscope's slot, as long as the entry leads there.
  std::optional<ForeignSlot> shared;
  std::string reason;
  uint64_t not_before_ns = 0;  // it was not there yet; 0: it may always have been
  uint64_t since_ns = 0;
  uint64_t until_ns = 0;
};

// Adds a site of the method, and its counts, to the method's report.
void add_site(MethodReport& report, const TraceSite& site, const SiteCounts& counts);

}  // namespace jitscope
