#include "runtimes/mono/mono_runtime.h"

#include <array>

#include "code/display_name.h"

namespace jitscope {
namespace {

// mono_method_full_name: "(wrapper kind) Ns.Type:Method (int,string)". What is no method
// ("(null)", "throw_exception", trampolines) has no colon.
MapName parse_mono(std::string_view raw) {
  std::string_view text = raw;
  std::string_view wrapper;
  constexpr std::string_view kWrapper = "(wrapper ";
  if (text.starts_with(kWrapper)) {
    const size_t end = text.find(") ");
    if (end == std::string_view::npos) return stub_map_name(raw);
    wrapper = text.substr(kWrapper.size(), end - kWrapper.size());
    text.remove_prefix(end + 2);
  }
  MapName out = whole_map_name(raw);
  const size_t open = open_of_last(text);
  std::string_view before = text;
  if (open != std::string_view::npos && open > 0) {
    before = text.substr(0, open);
    while (before.ends_with(' ')) before.remove_suffix(1);
  }
  const size_t colon = before.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == before.size())
    return stub_map_name(raw);
  out.name.type = before.substr(0, colon);
  while (out.name.type.ends_with(':')) out.name.type.pop_back();
  out.name.function = before.substr(colon + 1);
  if (before.size() != text.size()) {
    out.name.parameters = compact_parameters(text.substr(open + 1, text.size() - open - 2));
    out.name.has_parameters = true;
  }
  // It calls the method of its name, which is counted itself. Native and dynamic methods have no
  // other body.
  if (!wrapper.empty() && wrapper != "managed-to-native" && wrapper != "dynamic-method") {
    out.not_probeable = "Mono's wrapper of a method, not the method's own code";
  }
  return out;
}

constexpr std::string_view kWritesLate =
    "Mono writes its map in blocks of 4 KB, and the rest when it ends: read the recording again "
    "then";
constexpr std::array kAdvice = {ReasonAdvice{NoName::no_body_then, kWritesLate},
                                ReasonAdvice{NoName::no_line_there, kWritesLate}};
constexpr std::array kPrograms = {
    RuntimeProgram{.name = "Mono",
                   .files = {"mono", "libmonosgen-", "libmonoboehm-"},
                   .how_to_name = "start it with --jitmap"},
};

}  // namespace

constexpr RuntimeRow kMonoRuntime = {
    .runtime = Runtime::mono,
    .programs = kPrograms,
    .parse = parse_mono,
    .how_to_map = "start mono with --jitmap",
    .map_caveat =
        "Mono writes its perf map in blocks of 4 KB, so that what it compiled last is not "
        "in it yet; and a perf map does not say which code is still in use",
    .empty_map_note = ": Mono writes it in blocks of 4 KB, and the rest when it ends",
    .advice = kAdvice,
};

}  // namespace jitscope
