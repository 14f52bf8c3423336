#include "perf_event/cpus.h"

#include <algorithm>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"

namespace jitscope {
namespace {

constexpr const char* kOnline = "/sys/devices/system/cpu/online";
constexpr uint64_t kMostCpus = 65536;

}  // namespace

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(",\n"), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (part.empty()) continue;
    const size_t dash = part.find('-');
    const auto first = parse_decimal(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_decimal(part.substr(dash + 1));
    if (!first || !last || *last >= kMostCpus || *first > *last) {
      return fail(ErrorKind::damaged, "not a list of CPUs");
    }
    for (uint64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

Result<std::vector<int>> list_online_cpus() {
  JITSCOPE_ASSIGN(const std::string text, read_text_file(kOnline));
  auto cpus = parse_cpu_list(text);
  if (!cpus) return fail(std::move(cpus.error()).at(kOnline));
  return cpus;
}

size_t count_possible_cpus() {
  const auto text = read_text_file("/sys/devices/system/cpu/possible");
  if (!text) return 1;
  const auto cpus = parse_cpu_list(*text);
  return cpus ? cpus->size() : 1;
}

}  // namespace jitscope
