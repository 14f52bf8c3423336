#include "cli/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "render/json.h"

namespace jitscope {
namespace {

std::atomic<int> asked = 0;

void on_interrupt(int /*signal*/) {
  asked.fetch_add(1);
}

}  // namespace

int report_error(const Error& error) {
  // Names of strangers may be in it.
  std::string text = "jitscope: " + printable(error.what);
  if (!error.where.empty()) text += fmt::format(" ({})", printable(error.where));
  text += '\n';
  if (!error.hint.empty()) text += fmt::format("  {}\n", printable(error.hint));
  fmt::print(stderr, "{}", text);
  return exit_status(error.kind);
}

void report_note(std::string_view text) {
  fmt::print(stderr, "{}\n", text);
}

bool write_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

int interrupts() {
  return asked.load();
}

}  // namespace jitscope
