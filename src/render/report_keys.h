// What rows of a report are made of: keys, facts of several frames, order. Inside src/render only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"
#include "render/report_table.h"

namespace jitscope {

[[nodiscard]] bool has(const ReportOptions& options, ReportKey key);
// Some key is of the thread or the CPU, not of the frame.
[[nodiscard]] bool tells_threads_apart(const ReportOptions& options);
// The part of a row's key that the group gives.
[[nodiscard]] std::string label_key(const Group& group, const ReportOptions& options);
void name_label(ReportRow& row, const Group& group, const ReportOptions& options);
// "HashMap.java:12"; "" when the line is not known.
[[nodiscard]] std::string line_text(const Frame& frame);
// Parts joined so that different lists give different texts.
void append_part(std::string& text, std::string_view part);
// Tier and certainty: what tells versions of a method apart.
[[nodiscard]] std::string version_of(const Frame& frame);
// The part of a row's key that the frame gives.
[[nodiscard]] bool is_shown(const Frame& frame, const ReportOptions& options);
[[nodiscard]] std::string row_key(const Frame& frame, const ReportOptions& options);

// Tiers and sources of several frames.
struct RowFacts {
  uint32_t tiers = 0;
  uint32_t sources = 0;
  bool ambiguous = false;
  FrameId first = UINT32_MAX;

  void add(const RowFacts& other);
  void add(FrameId id, const Frame& frame);
  void describe(ReportRow& row, const std::vector<Frame>& frames) const;
};

// Numbers of rows in the order in which they are shown, of those that are.
[[nodiscard]] std::vector<uint32_t> report_order(const std::vector<ReportRow>& rows,
                                                 const ReportOptions& options);
void describe_report(Report& report, const Profile& profile, const ReportOptions& options);

}  // namespace jitscope
