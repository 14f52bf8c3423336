#include "code/regular_expression.h"

#include <re2/re2.h>

#include <string>

namespace jitscope {

Result<RegularExpression> RegularExpression::parse(std::string_view text) {
  constexpr int64_t most_memory = 16 << 20;
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(most_memory);
  RegularExpression expression;
  expression.compiled_ =
      std::make_shared<const re2::RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (!expression.compiled_->ok()) {
    return fail(ErrorKind::usage,
                "the regular expression is not understood: " + expression.compiled_->error(),
                std::string(text),
                "the syntax is RE2's (Perl's without back references and look-around); a pattern "
                "that is no regular expression does not stand between slashes");
  }
  return expression;
}

bool RegularExpression::found_in(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

}  // namespace jitscope
