// The output of a command of the shell, for tests that ask other people's tools.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

namespace jitscope::test {

// Ends with "status=N\n"; nothing when the shell cannot find the command.
inline std::optional<std::string> shell(const std::string& command) {
  FILE* pipe = ::popen((command + "; echo status=$?").c_str(), "re");
  if (pipe == nullptr) return std::nullopt;
  std::string output;
  char buffer[4096];
  size_t got = 0;
  while ((got = ::fread(buffer, 1, sizeof(buffer), pipe)) > 0) output.append(buffer, got);
  ::pclose(pipe);
  if (output.ends_with("status=127\n")) return std::nullopt;
  return output;
}

}  // namespace jitscope::test
