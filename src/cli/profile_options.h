// The options that script, report, flame and doctor share: which recording, and how to name it.
#pragma once

#include <string>
#include <vector>

#include "profile/session.h"

namespace CLI {
class App;
}

namespace jitscope {

struct ProfileArguments {
  std::string input = "perf.data";
  NamingOptions naming;
  std::vector<std::string> perf_maps;  // "PID=FILE"
  bool no_demangle = false;
  bool progress = true;
};

void add_profile_options(CLI::App& command, ProfileArguments& arguments);
// The naming options complete; usage errors.
Result<SessionOptions> session_options(const ProfileArguments& arguments);
// What was damaged or lost, on standard error.
void report_session(const Session& session);

}  // namespace jitscope
