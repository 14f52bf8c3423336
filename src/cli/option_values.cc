#include "cli/option_values.h"

#include <algorithm>
#include <array>

namespace jitscope {
namespace {

struct Entry {
  std::string_view option;
  OptionValue value;
};

using enum ValueKind;

constexpr auto entries = std::to_array<Entry>({
    {"--agent", {"FILE", file}},
    {"--callees", {"PATTERN", other}},
    {"--callers", {"PATTERN", other}},
    {"--comm", {"NAMES", other}},
    {"--cpu", {"CPUS", other}},
    {"--debugdir", {"DIR", folder}},
    {"--diff", {"FILE", file}},
    {"--dir", {"DIR", folder}},
    {"--dso", {"FILES", other}},
    {"--duration", {"SECONDS", other}},
    {"--dwarf", {"VERSION", other}},
    {"--event", {"NAME", event}},
    {"--every", {"COUNT", other}},
    {"--fields", {"FIELDS", field}},
    {"--freq", {"HZ", other}},
    {"--images", {"DIR", folder}},
    {"--inlined-by", {"PATTERN", method}},
    {"--input", {"FILE", file}},
    {"--jitdump", {"FILE", file}},
    {"--jobs", {"COUNT", other}},
    {"--limit", {"COUNT", other}},
    {"--map", {"FILE", file}},
    {"--max", {"COUNT", other}},
    {"--max-events", {"COUNT", other}},
    {"--output", {"FILE", file}},
    {"--percent-limit", {"PERCENT", other}},
    {"--perf-map", {"FILE", file}},
    {"--pid", {"PID", pid}},
    {"--root", {"DIR", folder}},
    {"--sort", {"KEYS", row_key}},
    {"--source", {"DIR", folder}},
    {"--tid", {"TIDS", other}},
    {"--time", {"FROM,TO", other}},
    {"--title", {"TEXT", other}},
    {"COMMAND", {"", command}},
    {"IMAGE", {"", file}},
    {"PATTERN", {"", method}},
    {"PID", {"", pid}},
    {"RECORDING", {"", file}},
    {"RECORDING|PID", {"", recording_or_pid}},
    {"folded", {"", file}},
});

}  // namespace

OptionValue option_value(std::string_view option) {
  const auto* found = std::ranges::find(entries, option, &Entry::option);
  return found == entries.end() ? OptionValue() : found->value;
}

}  // namespace jitscope
