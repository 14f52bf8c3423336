#include "runtimes/common/map_name.h"

namespace jitscope {

MapName whole_map_name(std::string_view raw) {
  MapName out;
  out.name.raw = raw;
  out.name.function = raw;
  return out;
}

MapName stub_map_name(std::string_view raw) {
  MapName out = whole_map_name(raw);
  out.tier = Tier::stub;
  out.not_probeable = kRuntimeStub;
  return out;
}

}  // namespace jitscope
