#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/byte_cursor.h"

namespace jitscope {
namespace {

// The narrowest terminal that tables are made for, the widest that is believed, and the usual one.
constexpr size_t kNarrowest = 40;
constexpr size_t kWidest = 10'000;
constexpr size_t kUsual = 80;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

size_t width_of_output() {
  const auto columns = parse_decimal(variable("COLUMNS"));
  if (columns && *columns > 0) return std::clamp<size_t>(*columns, kNarrowest, kWidest);
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return std::clamp<size_t>(size.ws_col, kNarrowest, kWidest);
}

Terminal look() {
  Terminal found;
  found.there = ::isatty(STDOUT_FILENO) == 1;
  if (!found.there) return found;
  const std::string_view kind = variable("TERM");
  found.dumb = kind.empty() || kind == "dumb";
  found.width = width_of_output();
  return found;
}

}  // namespace

const Terminal& terminal() {
  static const Terminal found = look();
  return found;
}

bool wants_colour(std::string_view choice) {
  if (choice != "auto") return choice == "always";
  return terminal().there && !terminal().dumb && variable("NO_COLOR").empty();
}

}  // namespace jitscope
