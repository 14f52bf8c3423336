// A profile as a table: what `report` prints, as text in the manner of perf report --stdio and as
// JSON lines; and the trees of callers and callees below a row.
//
// Rows are what has the same values of the sort keys. Versions of one method (tiers, ambiguous or
// not) are one row unless they are split. `total` counts a sample once for each row on its stack,
// however often the row recurs there. All sums come from one pass over the merged stacks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"
#include "render/frame_text.h"
#include "render/stack_merge.h"
#include "session/dso_names.h"

namespace jitscope {

enum class ReportKey : uint8_t {
  method,
  dso,
  process,
  thread,
  tier,
  source,
  comm,
  cpu,
  srcline,  // of frames with lines
};
[[nodiscard]] std::string_view to_string(ReportKey key);
// "method,dso"; perf's words count too: symbol or sym, pid (process), tid (thread).
[[nodiscard]] Result<std::vector<ReportKey>> parse_report_keys(std::string_view text);

struct ReportOptions {
  std::vector<ReportKey> keys{ReportKey::method, ReportKey::dso};
  uint32_t event = 0;
  Measure measure = Measure::weight;  // what percentages and the order are of
  bool children = true;               // order by total, else by self
  bool split_tiers = false;
  DsoNames dsos = {};     // rows of other libraries are left out, when there are any
  bool relative = false;  // percentages of the samples that filters took, else of all
};

struct ReportCount {
  uint64_t samples = 0;
  uint64_t weight = 0;
  [[nodiscard]] uint64_t of(Measure measure) const {
    return measure == Measure::samples ? samples : weight;
  }
  ReportCount& operator+=(const ReportCount& other) {
    samples += other.samples;
    weight += other.weight;
    return *this;
  }
};

struct ReportRow {
  Frame frame;          // facts of one of its frames; only those that the keys name hold for all
  std::string process;  // "comm pid"; with key process
  std::string thread;   // "comm-pid/tid"; with key thread
  std::string comm;     // the thread's name; with key comm
  std::string cpu;      // "3", "" where it is not known; with key cpu
  std::string tiers;    // all of its frames: "c1,c2"; "" when none has one
  std::string sources;  // "jitdump,elf"
  bool ambiguous = false;
  ReportCount self;
  ReportCount total;
};

struct Report {
  ReportOptions options;
  std::vector<ReportRow> rows;       // in order
  ReportCount sum;                   // of all samples of the event that filters took
  ReportCount others;                // of those that filters by thread left out
  uint64_t left_out = 0;             // samples, by filters of any kind, of all events
  std::vector<std::string> filters;  // as the user wrote them: "comm: java"
  EventName event;
  uint64_t samples = 0;  // of the whole profile, all events
  uint64_t lost = 0;
  std::vector<EventName> events;
  std::string command;
  std::string hostname;

  // What percentages are of.
  [[nodiscard]] uint64_t whole() const {
    const Measure measure = options.measure;
    return sum.of(measure) + (options.relative ? 0 : others.of(measure));
  }

  // The stacks that the rows were summed from, for report_tree.h.
  struct Stacks {
    MergedStacks merged;
    std::vector<ReportCount> self;   // of each node
    std::vector<ReportCount> total;  // with all below
    std::vector<uint32_t> row;       // of each node, a number in `rows`; kNoNode at labels
    std::vector<uint8_t> outermost;  // 1: no frame of the same row further out
    std::vector<uint32_t> name;      // of each key: a number in `names`; kNoNode for labels
    std::vector<std::string> names;
  } stacks;
};

[[nodiscard]] Report build_report(const Profile& profile, const ReportOptions& options = {});

struct ReportTextOptions {
  double min_percent = 0;  // rows below are left out (and counted in a last line)
  size_t max_rows = SIZE_MAX;
  bool header = true;
  size_t width = 0;     // of a terminal: rows are cut to so many characters; 0: they are not
  bool colour = false;  // percentages in the colours of perf report --stdio, as escape sequences
};
[[nodiscard]] std::string report_text(const Report& report, const ReportTextOptions& options = {});
// Parts of it, for a report with trees between the rows.
[[nodiscard]] std::string report_header_text(const Report& report,
                                             const ReportTextOptions& options = {});
[[nodiscard]] std::vector<std::string> report_row_texts(const Report& report, size_t count,
                                                        const ReportTextOptions& options = {});
// "  12.34%" in this form ("{:7.2f}%"), in colour where that is asked for.
void append_percent(std::string& out, double percent, int width, bool colour);

// {"type":"profile",...} and one {"type":"row",...} a line; numbers of rows count samples.
[[nodiscard]] std::string report_json(const Report& report, const ReportTextOptions& options = {});

}  // namespace jitscope
