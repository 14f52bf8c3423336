#include "cli/progress.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/printable.h"
#include "base/quiet_thread.h"
#include "base/write_all.h"
#include "render/progress_text.h"

namespace jitscope {
namespace {

// The one line there is; what is written to standard error meanwhile waits for the lock.
std::mutex line_mutex;
bool line_shown = false;

void show_line(const std::string& text) {
  const std::lock_guard lock(line_mutex);
  line_shown = true;
  (void)write_all(STDERR_FILENO, "\r" + printable(text) + "\x1b[K");
}

bool terminal_shows_lines() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

}  // namespace

void hide_progress() {
  const std::lock_guard lock(line_mutex);
  if (!line_shown) return;
  line_shown = false;
  (void)write_all(STDERR_FILENO, "\r\x1b[K");
}

struct Progress::Show {
  Show(std::string text, const Meter& counted) : what(std::move(text)), meter(counted) {}

  void run() {
    using namespace std::chrono_literals;
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex);
    for (auto pause = 2000ms; !ended.wait_for(lock, pause, [&] { return over; }); pause = 200ms) {
      show_line(progress_text(
          what, {meter.done.load(), meter.whole.load(), std::chrono::steady_clock::now() - start}));
    }
  }

  std::string what;
  const Meter& meter;
  std::mutex mutex;
  std::condition_variable ended;
  bool over = false;
  std::thread thread;
};

Progress::Progress(std::string what, bool wanted) {
  if (!wanted || !terminal_shows_lines()) return;
  show_ = std::make_unique<Show>(std::move(what), meter_);
  auto thread = start_quiet_thread([show = show_.get()] { show->run(); });
  if (thread) {
    show_->thread = std::move(*thread);
  } else {
    show_.reset();  // nothing is shown
  }
}

Progress::~Progress() {
  end();
}

void Progress::end() {
  if (show_ == nullptr) return;
  {
    const std::lock_guard lock(show_->mutex);
    show_->over = true;
  }
  show_->ended.notify_all();
  show_->thread.join();
  show_.reset();
  hide_progress();
}

}  // namespace jitscope
