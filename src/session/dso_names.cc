#include "session/dso_names.h"

#include <algorithm>
#include <functional>

namespace jitscope {

DsoNames::DsoNames(std::vector<std::string> names) : names_(std::move(names)) {
  std::ranges::sort(names_);
}

bool DsoNames::holds(std::string_view dso) const {
  if (dso.empty()) dso = "[unknown]";
  const auto named = [&](std::string_view name) {
    return std::ranges::binary_search(names_, name, std::less<>());
  };
  return named(dso) || named(dso.substr(dso.rfind('/') + 1));
}

}  // namespace jitscope
