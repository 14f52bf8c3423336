#include "agent/options.h"

namespace jitscope::agent {

Result<Options> parse_options(std::string_view text) {
  constexpr std::string_view kDirectory = "dir=";
  Options options;
  if (text.empty()) return options;
  if (!text.starts_with(kDirectory) || text.size() == kDirectory.size()) {
    return fail(ErrorKind::usage,
                "the only option is dir=FOLDER, not \"" + std::string(text) + '"');
  }
  options.directory = text.substr(kDirectory.size());
  return options;
}

bool turns_off_non_safepoints(std::string_view words) {
  constexpr std::string_view kSeparators(" \t\n\0", 4);
  constexpr std::string_view kOff = "-XX:-DebugNonSafepoints";
  constexpr std::string_view kOn = "-XX:+DebugNonSafepoints";
  bool off = false;
  while (!words.empty()) {
    const size_t end = words.find_first_of(kSeparators);
    const std::string_view word = words.substr(0, end);
    if (word == kOff) off = true;
    if (word == kOn) off = false;  // the last one counts
    if (end == std::string_view::npos) break;
    words.remove_prefix(end + 1);
  }
  return off;
}

}  // namespace jitscope::agent
