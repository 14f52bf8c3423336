// Diagnostics: damage and oddities that can be skipped, counted by kind and shown once a kind.
//
// A parser that meets damage it can step over calls note(kind, example) and goes on; the command
// shows at its end "12 lines of the perf map skipped: no size (first: line 7 ...)". Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace jitscope {

class Diagnostics {
 public:
  struct Entry {
    std::string kind;   // stable text, e.g. "perf map line without a size"
    std::string first;  // the first example, e.g. "/tmp/perf-12.map:7"
    uint64_t count = 0;
  };

  void note(std::string_view kind, std::string_view example = {}, uint64_t count = 1);
  // What others noted, of kinds whose first example is theirs.
  void add(const Diagnostics& others);
  [[nodiscard]] uint64_t count(std::string_view kind) const;
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] std::vector<Entry> entries() const;
  // The entries that were not returned by an earlier call: "once a kind".
  std::vector<Entry> take_new();

 private:
  struct Slot {
    std::string first;
    uint64_t count = 0;
    bool shown = false;
  };
  std::map<std::string, Slot, std::less<>> entries_;
};

// "3x perf map line without a size (first: /tmp/perf-12.map:7)".
[[nodiscard]] std::string to_string(const Diagnostics::Entry& entry);

}  // namespace jitscope
