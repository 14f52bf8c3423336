// Errors as values: Result<T> is std::expected with one error type for the whole project.
//
// An Error says what went wrong, where (file, address, offset), what the system said, and what the
// user can do next. Nothing here throws; a module never lets an exception out. The kind decides the
// exit status of the command (docs: README, "Exit status").
#pragma once

#include <cerrno>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace jitscope {

enum class ErrorKind : uint8_t {
  not_found,      // nothing matched, nothing there                  -> exit status 1
  usage,          // the user's words are off                        -> exit status 2
  not_permitted,  // a capability, sysctl or ownership is missing     -> exit status 3
  not_possible,   // this target, kernel or code does not allow it    -> exit status 3
  damaged,        // bytes of a file or a process make no sense       -> exit status 3
  target_gone,    // the target exited or became another program      -> exit status 4
};

struct Error {
  ErrorKind kind = ErrorKind::not_possible;
  std::string what;   // one sentence, no full stop
  std::string where;  // file, offset, pid, address; may be empty
  std::string hint;   // what to do next; may be empty
  int system_errno = 0;

  Error at(std::string place) && {
    where = std::move(place);
    return std::move(*this);
  }
  Error advise(std::string text) && {
    hint = std::move(text);
    return std::move(*this);
  }
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline std::unexpected<Error> fail(Error error) {
  return std::unexpected<Error>(std::move(error));
}
[[nodiscard]] inline std::unexpected<Error> fail(ErrorKind kind, std::string what,
                                                 std::string where = {}, std::string hint = {}) {
  return std::unexpected<Error>(Error{kind, std::move(what), std::move(where), std::move(hint), 0});
}

// An error from errno: "what: Permission denied". EPERM and EACCES become not_permitted, ESRCH
// target_gone, ENOENT not_found, anything else not_possible.
[[nodiscard]] Error system_error(std::string_view what, std::string where = {}, int code = errno);

// "what (where): hint" on one line, for messages and logs.
[[nodiscard]] std::string to_string(const Error& error);

// The exit status of the command for an error of this kind.
[[nodiscard]] int exit_status(ErrorKind kind);

}  // namespace jitscope

#define JITSCOPE_CONCAT_(a, b) a##b
#define JITSCOPE_CONCAT(a, b) JITSCOPE_CONCAT_(a, b)

// JITSCOPE_TRY(expr): leaves the function with the error of a Status or Result, if there is one.
#define JITSCOPE_TRY(expr)                                         \
  do {                                                             \
    auto&& jitscope_status = (expr);                               \
    if (!jitscope_status) {                                        \
      return ::jitscope::fail(std::move(jitscope_status.error())); \
    }                                                              \
  } while (false)

// JITSCOPE_ASSIGN(auto x, expr): x is the value of a Result, or the function ends with its error.
#define JITSCOPE_ASSIGN(declaration, expr) \
  JITSCOPE_ASSIGN_(declaration, expr, JITSCOPE_CONCAT(jitscope_result_, __LINE__))
#define JITSCOPE_ASSIGN_(declaration, expr, name)     \
  auto&& name = (expr);                               \
  if (!name) {                                        \
    return ::jitscope::fail(std::move(name.error())); \
  }                                                   \
  declaration = std::move(*name)
