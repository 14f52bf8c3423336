#include "naming/jit_name.h"

#include "code/recorded_name.h"
#include "formats/java/java_names.h"
#include "runtimes/all_runtimes.h"
#include "runtimes/hotspot/signature.h"

namespace jitscope {
namespace {

// "Lcom/example/Shop;total([II)J": class, method and descriptor as the JVMTI agents write them.
bool take_jvmti_name(std::string_view raw, std::string& method) {
  const size_t semicolon = raw.find(';');
  if (!raw.starts_with('L') || semicolon == std::string_view::npos) return false;
  const std::string_view rest = raw.substr(semicolon + 1);
  const size_t open = java::descriptor_at_end(rest);
  if (open == 0 || open == std::string_view::npos || rest.starts_with("::")) return false;
  const auto signature = hotspot::parse_signature(rest.substr(open));
  if (!signature) return false;
  method = hotspot::java_class_name(raw.substr(1, semicolon - 1)) + "." +
           std::string(rest.substr(0, open)) + "(" +
           hotspot::join_type_names(signature->parameters) + ")";
  return true;
}

}  // namespace

JitName jit_name(Runtime runtime, std::string_view raw, bool recorded) {
  JitName result;
  Tier tier = Tier::unknown;
  if (recorded) {
    const RecordedName name = decode_recorded_name(raw);
    raw = name.name;
    tier = name.tier;
    if (name.runtime != Runtime::unknown) runtime = name.runtime;
  }
  result.raw = raw;
  if (take_jvmti_name(raw, result.method)) {
    result.tier = tier;
    return result;
  }
  const MapName parsed = parse_map_name(runtime, raw);
  result.tier = tier != Tier::unknown ? tier : parsed.tier;
  // What jitscope record wrote may be a display name already.
  result.method =
      recorded && row_of(runtime).recorded_as_shown ? std::string(raw) : parsed.name.display();
  if (result.method.empty()) result.method = raw;
  if (result.tier == Tier::stub) result.kind = FrameKind::runtime;
  if (result.tier == Tier::bytecode) result.kind = FrameKind::interpreted;
  return result;
}

}  // namespace jitscope
