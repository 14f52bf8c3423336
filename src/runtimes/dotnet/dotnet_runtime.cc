#include "runtimes/dotnet/dotnet_runtime.h"

#include <array>

#include "base/path.h"
#include "code/display_name.h"
#include "runtimes/dotnet/dotnet_spelling.h"
#include "runtimes/dotnet/runtime_info.h"

namespace jitscope {
namespace {

// "instance void [System.Private.CoreLib] System.Text.StringBuilder::Append(char)[OptimizedTier1]"
// (coreclr: src/coreclr/vm/perfmap.cpp).
MapName parse_dotnet(std::string_view raw) {
  MapName out = whole_map_name(raw);
  std::string_view text = raw;
  if (const size_t tier = text.rfind(")["); tier != std::string_view::npos && text.ends_with(']')) {
    out.osr = text.substr(tier).find("OSR") != std::string_view::npos;
    text = text.substr(0, tier + 1);
  }
  const size_t open = open_of_last(text);
  const std::string_view before = open == std::string_view::npos ? text : text.substr(0, open);
  const size_t colons = before.rfind("::");
  if (colons == std::string_view::npos || colons + 2 == before.size()) return out;
  std::string_view type = before.substr(0, colons);
  // Behind the assembly in brackets; generic arguments may hold brackets too, but no "] ".
  if (const size_t end = type.rfind("] "); end != std::string_view::npos) {
    type.remove_prefix(end + 2);
  } else if (const size_t blank = type.rfind(' '); blank != std::string_view::npos) {
    type.remove_prefix(blank + 1);
  }
  if (type.empty()) return out;
  out.name.type = dotnet_spelling(type);
  out.name.function = before.substr(colons + 2);
  if (open != std::string_view::npos) {
    out.name.parameters = dotnet_spelling(text.substr(open + 1, text.size() - open - 2));
    out.name.has_parameters = true;
  }
  if (out.name.function.starts_with("IL_STUB")) {
    out.tier = Tier::stub;
    out.not_probeable = kRuntimeStub;
  }
  return out;
}

// The folder that the library lies in: ".../Microsoft.NETCore.App/8.0.1/libcoreclr.so".
std::string_view version_text(std::string_view path) {
  return path_component(path, 1);
}

std::string version(const Process& process, const RuntimeInfo& info) {
  if (info.is_executable) return single_file_version(process);
  const std::string_view version = path_component(info.library, 1);
  return !version.empty() && version.front() >= '0' && version.front() <= '9' ? std::string(version)
                                                                              : std::string();
}

std::string embedded_version(const Process& process, uint64_t /*base*/) {
  return single_file_version(process);
}

std::string why_not_fixed(const Process& /*process*/) {
  return ".NET maps its code a second time to write it: a patch could be undone or shared";
}

constexpr std::array kPrograms = {
    RuntimeProgram{.name = ".NET",
                   // The memory that it maps twice: all that is seen of a single-file program.
                   .files = {"libcoreclr.so", "memfd:doublemapper"},
                   .how_to_name = "start it with DOTNET_PerfMapEnabled=1 (map and jitdump)",
                   .since = {6, 0},
                   .older = "start it with COMPlus_PerfMapEnabled=1 (a map)",
                   .version_text = version_text},
};

}  // namespace

constexpr RuntimeRow kDotnetRuntime = {
    .runtime = Runtime::dotnet,
    .programs = kPrograms,
    .version = version,
    .embedded_version = embedded_version,
    .parse = parse_dotnet,
    .how_to_map = "start it with DOTNET_PerfMapEnabled=1 in its environment",
    .why_not_fixed = why_not_fixed,
};

}  // namespace jitscope
