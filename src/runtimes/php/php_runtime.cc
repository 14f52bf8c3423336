#include "runtimes/php/php_runtime.h"

#include <algorithm>
#include <array>

#include "base/path.h"

namespace jitscope {
namespace {

// opcache: "JIT$Ns\\Class::method", "TRACE-6$childonly$3" (ext/opcache/jit/zend_jit_trace.c).
MapName parse_php(std::string_view raw) {
  MapName out = whole_map_name(raw);
  if (raw.starts_with("TRACE-")) {
    out.not_probeable = "a trace through several functions, not one function's code";
    return out;
  }
  std::string_view text = raw;
  if (text.starts_with("JIT$$")) return stub_map_name(raw);  // helpers of the JIT itself
  if (text.starts_with("JIT$")) text.remove_prefix(4);
  const size_t colons = text.find("::");
  if (colons == std::string_view::npos) {
    if (!text.empty()) out.name.function = text;
  } else if (colons > 0 && colons + 2 < text.size()) {
    out.name.type = text.substr(0, colons);
    out.name.function = text.substr(colons + 2);
  }
  return out;
}

// "php8.2"
std::string version(const Process& /*process*/, const RuntimeInfo& info) {
  constexpr size_t prefix = 3;
  const std::string_view name = base_name(info.library);
  const std::string_view version = name.substr(std::min(prefix, name.size()));
  return !version.empty() && version.front() >= '0' && version.front() <= '9' ? std::string(version)
                                                                              : std::string();
}

std::string why_not_fixed(const Process& /*process*/) {
  return "PHP's code lies in a shared mapping: a patch would reach forked processes";
}

constexpr std::array kPrograms = {
    RuntimeProgram{
        .name = "PHP",
        .files = {"php", "libphp", "phpdbg"},
        .how_to_name = "start it with -d opcache.jit_debug=0x30 (0x10: a map, 0x20: a jitdump)",
        .since = {8, 0},
        .older = "PHP before 8.0 compiles nothing",
        .older_never = true},
};

}  // namespace

constexpr RuntimeRow kPhpRuntime = {
    .runtime = Runtime::php,
    .programs = kPrograms,
    .version = version,
    .parse = parse_php,
    .how_to_map = "start php with -d opcache.jit_debug=0x10 (0x30: a jitdump too)",
    .why_not_fixed = why_not_fixed,
};

}  // namespace jitscope
