// What patterns mean among the names that are there: a name as it stands, a class, the last parts
// of a name. Every verb that takes patterns asks here, so that they mean the same in each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "code/pattern.h"

namespace jitscope {

// In this order, for each pattern:
// - the very name of a method ("T.a*b" where one is called so) is taken literally from now on;
// - what matches whole names is left as it is;
// - the name of a class stands for all its methods;
// - the last parts of a name ("HashMap.put", "put") are taken when all methods that have them are
//   of one class, with a glob in the class or without a class ("Hash*.put", "put*") of any;
// - the last parts of a class's name ("HashMap") likewise.
// What matches nothing stays as it is. The result is what to tell the user, a line each; the error
// (usage) has the classes among which a pattern does not decide.
Result<std::vector<std::string>> settle_patterns(std::span<Pattern> patterns,
                                                 std::span<const MethodName* const> names);

}  // namespace jitscope
