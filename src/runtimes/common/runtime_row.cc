#include "runtimes/common/runtime_row.h"

namespace jitscope {

MapName parse_map_name(const RuntimeRow& row, std::string_view raw) {
  MapName out = row.parse(raw);
  if (out.osr && out.not_probeable.empty()) out.not_probeable = "OSR body";
  return out;
}

}  // namespace jitscope
