// RecordingFacts: what a recording says about itself that decides which files may name it: clock,
// machine, owner, time on the wall. Relies on the header that formats/perfdata read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/perfdata/reader.h"

namespace jitscope {

// How jitscope record ends the version that it writes into a recording with a folder of names.
inline constexpr std::string_view kWithNames = ", names of JIT code in a folder beside it";

class RecordingFacts {
 public:
  // `path` of the recording ("-" or "" for a pipe).
  RecordingFacts(std::string path, const perfdata::Header& header);

  [[nodiscard]] const std::string& path() const { return path_; }
  // The folder that it lies in, with a final '/'; "" for a pipe.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  // False when the header says that another program wrote it: what jitscope record left beside a
  // file of the same name belongs to a recording that is gone. A recorder that was killed leaves no
  // such header.
  [[nodiscard]] bool by_jitscope() const { return by_jitscope(*header_); }
  [[nodiscard]] static bool by_jitscope(const perfdata::Header& header) {
    return header.version.empty() || header.version.starts_with("jitscope");
  }
  // The folder that jitscope record left beside the recording; "" when it says that it left none.
  [[nodiscard]] std::string names_folder() const;
  // It said so, and the folder is not there.
  [[nodiscard]] bool names_are_missing() const;
  // Sample times can be compared with CLOCK_MONOTONIC times.
  [[nodiscard]] bool monotonic() const { return header_->clock() == 1; }
  // A TSC value as a time of the recording; nothing where the recording does not tell how.
  [[nodiscard]] std::optional<uint64_t> time_of_ticks(uint64_t ticks) const;
  // Nanoseconds of CLOCK_REALTIME for a time of the recording; nothing when it does not tell.
  [[nodiscard]] std::optional<int64_t> wall_time(uint64_t time) const;
  // How far wall_time may be off, nanoseconds.
  [[nodiscard]] int64_t wall_slack() const;
  // Made on this machine and this boot, so that live processes may be asked.
  [[nodiscard]] bool of_this_machine() const { return this_machine_; }
  [[nodiscard]] std::optional<uid_t> owner() const { return owner_; }
  [[nodiscard]] const perfdata::Header& header() const { return *header_; }

 private:
  std::string path_;
  std::string folder_;
  const perfdata::Header* header_;
  std::optional<uid_t> owner_;
  std::optional<int64_t> modified_;  // of the file, CLOCK_REALTIME
  bool this_machine_ = false;
};

}  // namespace jitscope
