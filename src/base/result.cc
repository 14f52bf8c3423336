#include "base/result.h"

#include <cstring>

namespace jitscope {

Error system_error(std::string_view what, std::string where, int code) {
  ErrorKind kind = ErrorKind::not_possible;
  switch (code) {
    case EPERM:
    case EACCES:
      kind = ErrorKind::not_permitted;
      break;
    case ESRCH:
      kind = ErrorKind::target_gone;
      break;
    case ENOENT:
      kind = ErrorKind::not_found;
      break;
    default:
      break;
  }
  std::string text(what);
  text.append(": ").append(std::strerror(code));
  return Error{kind, std::move(text), std::move(where), {}, code};
}

std::string to_string(const Error& error) {
  std::string text = error.what;
  if (!error.where.empty()) text.append(" (").append(error.where).append(1, ')');
  if (!error.hint.empty()) text.append("; ").append(error.hint);
  return text;
}

int exit_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::not_found:
      return 1;
    case ErrorKind::usage:
      return 2;
    case ErrorKind::not_permitted:
    case ErrorKind::not_possible:
    case ErrorKind::damaged:
      return 3;
    case ErrorKind::target_gone:
      return 4;
  }
  return 3;
}

}  // namespace jitscope
