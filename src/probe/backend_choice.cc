#include "probe/backend_choice.h"

#include <fmt/format.h>

#include "probe/breakpoints.h"

namespace jitscope {

Result<BackendChoice> choose_backend(std::optional<Backend> asked_for, const CodeSource& source) {
  const bool fixed = source.code_is_fixed();
  if (!asked_for) {
    return BackendChoice{fixed ? Backend::trampoline : Backend::breakpoint, true,
                         fixed ? "the runtime's code does not move" : source.movable_reason()};
  }
  if (*asked_for != Backend::breakpoint && !fixed) {
    return fail(ErrorKind::not_possible,
                fmt::format("the {} backend changes code, and here that is not safe: {}",
                            to_string(*asked_for), source.movable_reason()),
                {}, "use --backend breakpoint");
  }
  return BackendChoice{*asked_for, false, "asked for"};
}

Status check_breakpoints_suffice(size_t bodies, const CodeSource& source) {
  if (bodies <= breakpoint_registers) return {};
  return fail(ErrorKind::not_possible,
              fmt::format("{} bodies match and the CPU has {} breakpoint registers", bodies,
                          breakpoint_registers),
              {},
              source.code_is_fixed()
                  ? "narrow the pattern, or use --backend trampoline"
                  : fmt::format("narrow the pattern (a trampoline is not safe: {})",
                                source.movable_reason()));
}

}  // namespace jitscope
