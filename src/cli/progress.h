// Progress: a line on the terminal that says how far long work is, from its third second on.
//
// Standard error, and only where it is a terminal. The line is taken away when something else is
// written there (hide_progress()) and when the work ends.
#pragma once

#include <memory>
#include <string>

#include "base/meter.h"

namespace jitscope {

class Progress {
 public:
  // `what`: "reading perf.data". `wanted` false: nothing is shown.
  explicit Progress(std::string what, bool wanted = true);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What the work counts in.
  [[nodiscard]] Meter& meter() { return meter_; }
  // Before anything is shown of what was worked on.
  void end();

 private:
  struct Show;
  Meter meter_;
  std::unique_ptr<Show> show_;
};

// Before a line is written to standard error.
void hide_progress();

}  // namespace jitscope
