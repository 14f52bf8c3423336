// OutputForm: a format that `flame` writes, chosen by the ending of the file's name.
// CONTRIBUTING.md says how one is added: a file with a row, and the row's name in output_form.cc.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/profile.h"

namespace jitscope {

struct OutputInput {
  const Profile& profile;
  std::string title = {};                             // "" takes the recording's command
  uint32_t event = 0;                                 // the one that is shown, or shown first
  bool per_thread = false;                            // where a form merges threads otherwise
  uint64_t wall_clock_start = 0;                      // nanoseconds since 1970; 0 when not known
  std::map<std::string, std::string> build_ids = {};  // of mapped files, by path
};
// Takes the text in pieces.
using OutputSink = std::function<Status(std::string_view)>;

struct OutputForm {
  std::string_view name;
  std::array<std::string_view, 2> endings;  // the first is the usual one
  bool timeline = false;                    // wants each sample with its time
  bool compares = false;                    // shows two profiles in one (--diff)
  Status (*write)(const OutputInput& input, const OutputSink& sink) = nullptr;
};

[[nodiscard]] std::span<const OutputForm* const> output_forms();
// usage: no form has the ending; the hint says what to use instead of those of other tools.
Result<const OutputForm*> output_form_of(const std::string& path);

// For tests: one form more, as long as this lives. `form` must outlive it. Not thread-safe.
class ExtraOutputForm {
 public:
  explicit ExtraOutputForm(const OutputForm& form);
  ~ExtraOutputForm();
  ExtraOutputForm(const ExtraOutputForm&) = delete;
  ExtraOutputForm& operator=(const ExtraOutputForm&) = delete;
};

}  // namespace jitscope
