// DsoNames: libraries as users name them: by file name or whole path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace jitscope {

class DsoNames {
 public:
  DsoNames() = default;
  explicit DsoNames(std::vector<std::string> names);

  [[nodiscard]] bool empty() const { return names_.empty(); }
  // `dso` as it is shown or as it was mapped.
  [[nodiscard]] bool holds(std::string_view dso) const;

 private:
  std::vector<std::string> names_;  // in order
};

}  // namespace jitscope
