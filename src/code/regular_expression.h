// RegularExpression: RE2's, because names come from the target: the time is linear in their length
// and no stack grows, whatever the expression and the name are. Copies share one.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace jitscope {

class RegularExpression {
 public:
  // Errors (usage): what RE2 says of it.
  static Result<RegularExpression> parse(std::string_view text);
  // Anywhere in the text, unless the expression has anchors.
  [[nodiscard]] bool found_in(std::string_view text) const;

 private:
  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace jitscope
