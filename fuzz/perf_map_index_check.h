// PerfMapIndex against a search through all lines; shared by the fuzz target and the unit tests.
// Empty: all is well.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/perfmap/perf_map.h"
#include "formats/perfmap/perf_map_index.h"

namespace jitscope::fuzz {

inline std::string_view compare_at(const PerfMapIndex& index, const std::vector<PerfMapLine>& lines,
                                   uint64_t address) {
  const PerfMapLine* last = nullptr;
  std::set<std::string_view> names;
  for (const PerfMapLine& line : lines) {
    if (address < line.address || address - line.address >= line.size) continue;
    last = &line;
    names.insert(line.name);
  }
  const PerfMapIndex::Answer answer = index.at(address);
  if (answer.changed) return "a line that changed";
  if (answer.entry.has_value() != (last != nullptr)) return "a name where none is, or none";
  if (answer.candidate_count != names.size()) return "a wrong number of names";
  if (answer.ambiguous != (names.size() > 1)) return "wrongly ambiguous or certain";
  if (last != nullptr &&
      (answer.entry->number != last->number || answer.entry->address != last->address ||
       answer.entry->size != last->size || answer.entry->name != last->name)) {
    return "not the last line";
  }
  const size_t expected =
      answer.ambiguous ? std::min(names.size(), PerfMapIndex::kMostCandidates) : 0;
  if (answer.candidates.size() != expected) return "a wrong number of candidates";
  std::set<std::string_view> seen;
  uint64_t before = UINT64_MAX;
  for (const auto& candidate : answer.candidates) {
    if (!names.contains(candidate.name) || !seen.insert(candidate.name).second) {
      return "a candidate that does not hold the address, or twice";
    }
    if (candidate.number >= before) return "candidates out of order";
    before = candidate.number;
  }
  if (expected != 0 && answer.candidates.front().number != last->number) {
    return "the answer is not the first candidate";
  }
  return {};
}

inline std::string_view check_perf_map_index(std::span<const std::byte> bytes) {
  Diagnostics slow;
  std::vector<PerfMapLine> lines;
  PerfMapParser parser("memory", slow);
  parser.feed({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, lines);
  parser.finish(lines);

  Diagnostics fast;
  const auto index =
      PerfMapIndex::read(memory_source(std::vector<std::byte>(bytes.begin(), bytes.end())), fast);
  if (!index) return "an error from memory";
  if ((*index)->lines() != parser.lines()) return "another number of lines";
  const auto damage = slow.entries();
  const auto other = fast.entries();
  const auto same = [](const Diagnostics::Entry& a, const Diagnostics::Entry& b) {
    return a.kind == b.kind && a.count == b.count && a.first == b.first;
  };
  if (!std::ranges::equal(damage, other, same)) return "other damage";

  std::set<uint64_t> addresses = {0, UINT64_MAX};
  for (const PerfMapLine& line : lines) {
    if (addresses.size() > 200) break;
    for (const uint64_t edge : {line.address, line.address + line.size}) {
      addresses.insert({edge, edge - 1, edge + 1});
    }
  }
  for (const uint64_t address : addresses) {
    if (auto wrong = compare_at(**index, lines, address); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace jitscope::fuzz
