// The pager between what a command writes and the terminal, as perf and git have it:
// $JITSCOPE_PAGER, else $PAGER, else less, in the user's environment. It is started with the first
// byte, so that a command that fails or is interrupted while it works has none.
//
// A signal that would end this process closes the pager's input, waits for it, and ends the process
// then: the terminal is not left to two at a time.
#pragma once

#include <sys/types.h>

#include <array>
#include <csignal>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace jitscope::CLI {
class App;
}

namespace jitscope {

// --no-pager
void add_no_pager_option(CLI::App& command);

// What this command writes from now on goes through the pager. False: there will be none, since
// standard output is no terminal, or the user wants none or has none.
bool page_output();

// What cli/command's Output tells it.
class Pager {
 public:
  static constexpr size_t kSignals = 4;

  bool prepare();
  // Before bytes are written to standard output; starts the pager if there is to be one. False:
  // the user has left it, nothing is read any more.
  bool begin();
  // These were written.
  void wrote(std::string_view text);
  // Standard output was closed. True when it was the pager's, which could not be run: what was
  // written is on the terminal now, to which all else goes too.
  bool closed();
  // Waits until the user has left it; the terminal is standard output again. True as closed().
  bool finish();

 private:
  bool start();
  void take_signals();
  void give_signals_back();

  std::string command_;
  bool wanted_ = false;
  bool running_ = false;
  bool left_ = false;
  UniqueFd terminal_;
  // Until it has certainly read some of it.
  std::string written_;
  bool unread_ = true;
  std::array<struct sigaction, kSignals> before_ = {};
};
Pager& pager();

}  // namespace jitscope
