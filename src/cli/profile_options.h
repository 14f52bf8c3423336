// The options that script, report, flame and doctor share: which recording, which of its samples,
// and how to name them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/filter_options.h"
#include "profile/profile.h"
#include "session/session.h"

namespace jitscope::CLI {
class App;
class Option;
}  // namespace jitscope::CLI

namespace jitscope {

struct ProfileArguments {
  std::string input = "perf.data";
  NamingOptions naming;
  FilterArguments filter;
  std::vector<std::string> perf_maps;  // "PID=FILE"
  bool no_demangle = false;
  bool no_inline = false;
  unsigned cores = std::max(1U, std::thread::hardware_concurrency());  // those it may run on
};

// Said of a recording without samples.
inline constexpr std::string_view kNoSamples =
    "the recording has no samples: only what runs on a CPU is sampled, not what sleeps or waits";

// Returns -i.
CLI::Option* add_profile_options(CLI::App& command, ProfileArguments& arguments);
// The recording as a word of its own, in place of -i.
CLI::Option* add_recording_word(CLI::App& command, ProfileArguments& arguments, CLI::Option* input);
// The naming options complete, and the filters; usage errors.
Result<SessionOptions> session_options(const ProfileArguments& arguments);
// Session::open() with what to do when there is no recording.
Result<std::unique_ptr<Session>> open_session(const std::string& path,
                                              const SessionOptions& options);
// What to do about an error of opening a recording.
[[nodiscard]] Error explain_open(const std::string& path, Error error);
// The number of the event of this name ("": the first).
Result<uint32_t> event_number(const Profile& profile, const std::string& name);
// A closed output is an end like any other. Where the recording comes through a pipe, the first
// Ctrl-C is for the recorder at its other end: what came until then is shown.
void prepare_signals(const std::string& input);
// Why there is nothing to show: an empty recording, or filters that took nothing.
[[nodiscard]] std::string no_samples_text(const Session& session);
// What was damaged or lost, on standard error.
void report_session(const Session& session);

}  // namespace jitscope
