#include "cli/command.h"

#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/printable.h"
#include "base/write_all.h"
#include "cli/options.h"
#include "cli/pager.h"
#include "cli/progress.h"

namespace jitscope {
namespace {

std::atomic<int> asked = 0;
std::atomic<uint64_t> asked_ns = 0;
std::atomic<int> wake = -1;                                 // an eventfd, never closed
static_assert(std::atomic<uint64_t>::is_always_lock_free);  // for a signal handler

constexpr uint64_t one_request_ns = 500'000'000;

void on_interrupt(int /*signal*/) {
  const int code = errno;
  const uint64_t now = monotonic_ns();
  uint64_t last = asked_ns.load();
  // From the first signal of a request on: one who presses the key again and again is heard.
  if ((last == 0 || now - last > one_request_ns) && asked_ns.compare_exchange_strong(last, now)) {
    asked.fetch_add(1);
  }
  const uint64_t one = 1;
  if (wake >= 0) (void)!::write(wake, &one, sizeof(one));
  errno = code;
}

}  // namespace

void add_source_folder_option(CLI::App& command, std::string& folder, const std::string& about) {
  command.add_option("--source", folder, about)->transform([](const std::string& given) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(given, error);
    return error ? given : absolute.lexically_normal().string();
  });
}

std::string check_seconds(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  const bool fine =
      !text.empty() && *end == '\0' && std::isfinite(seconds) && seconds > 0 && seconds < 1e9;
  return fine ? std::string() : "wants a time above 0 such as 10, 10s, 500ms or 2m, not " + text;
}

int report_error(const Error& error) {
  std::string text = "jitscope: " + printable(error.what);
  if (!error.where.empty()) text += fmt::format(" ({})", printable(error.where));
  text += '\n';
  if (!error.hint.empty()) text += fmt::format("  {}\n", printable(error.hint));
  write_error(text);
  return exit_status(error.kind);
}

void report_note(std::string_view text) {
  write_error(printable(text) + "\n");
}

// Where it cannot be written there is nobody to tell. Nothing goes into the screen of a pager: the
// user leaves that first.
void write_error(std::string_view lines) {
  hide_progress();
  pager().finish();
  (void)write_all(STDERR_FILENO, printable_lines(lines));
}

void report_wait(const Error& why) {
  report_note(fmt::format("waiting: {} (Ctrl-C ends the wait)", why.what));
}

bool Output::write_some(std::string& text, std::chrono::milliseconds wait) {
  if (!pager().begin()) return false;
  if (!is_printable_lines(text)) text = printable_lines(text);
  text.insert(0, std::exchange(cut_, {}));
  // poll() says that a pipe takes PIPE_BUF bytes: so much, and no more, never blocks.
  size_t done = 0;
  while (done < text.size()) {
    pollfd handle = {STDOUT_FILENO, POLLOUT, 0};
    const int ready = ::poll(&handle, 1, done == 0 ? static_cast<int>(wait.count()) : 0);
    if (ready < 0 && errno != EINTR) break;
    if (ready <= 0) break;
    const size_t chunk = std::min<size_t>(text.size() - done, PIPE_BUF);
    const ssize_t written = ::write(STDOUT_FILENO, text.data() + done, chunk);
    if (written < 0) {
      if (errno == EINTR || errno == EAGAIN) break;
      if (errno != EPIPE) error_ = system_error("cannot write the output", "standard output");
      if (!error_ && pager().closed()) continue;
      return false;
    }
    pager().wrote(std::string_view(text).substr(done, static_cast<size_t>(written)));
    done += static_cast<size_t>(written);
  }
  text.erase(0, done);
  // Alone it would be no UTF-8.
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; };
  const auto whole = std::ranges::find_if(text, begins);
  cut_.assign(text.begin(), whole);
  text.erase(text.begin(), whole);
  return true;
}

bool Output::write_all(std::string text, int allowed_interrupts) {
  while (!text.empty()) {
    if (!write_some(text, std::chrono::milliseconds(100))) return false;
    if (interrupts() > allowed_interrupts) return false;
  }
  return true;
}

bool Output::write_bulk(std::string_view text) {
  if (is_printable_lines(text)) return write_printable(text);
  return write_printable(printable_lines(text));
}

bool Output::write_printable(std::string_view text) {
  if (!pager().begin()) return false;
  while (!text.empty()) {
    if (interrupts() > 0) return false;
    // A signal ends a write that waits for the reader (no SA_RESTART).
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      pager().wrote(text.substr(0, static_cast<size_t>(written)));
      text.remove_prefix(static_cast<size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {
      pollfd handle = {STDOUT_FILENO, POLLOUT, 0};
      (void)::poll(&handle, 1, 100);
      continue;
    }
    if (errno != EPIPE) error_ = system_error("cannot write the output", "standard output");
    if (!error_ && pager().closed()) continue;
    return false;
  }
  return true;
}

Output& output() {
  static Output standard;
  return standard;
}

bool write_out(std::string_view text) {
  return output().write_all(std::string(text));
}

int status_with_output(int status) {
  if (!output().error()) return status;
  Error error = *output().error();
  error.kind = ErrorKind::not_possible;
  return report_error(error);
}

void catch_interrupts() {
  if (wake < 0) wake = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

int interrupts() {
  return asked.load();
}

int interrupt_fd() {
  return wake.load();
}

}  // namespace jitscope
