#include "ebpf/bpf_support.h"

#include <cstdarg>
#include <cstdio>
#include <string>

namespace jitscope {
namespace {

std::string& kept_log() {
  static std::string text;
  return text;
}

int keep_log(enum libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  char line[512];
  std::vsnprintf(line, sizeof(line), format, arguments);
  std::string& text = kept_log();
  if (text.size() > 4096) text.clear();
  text += line;
  return 0;
}

}  // namespace

void prepare_libbpf() {
  libbpf_set_print(keep_log);
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
}

Error bpf_error(std::string_view what, int code) {
  Error error = system_error(what, {}, code);
  if (code == EPERM || code == EACCES) {
    error.kind = ErrorKind::not_permitted;
    error.hint = "run as root, or give jitscope CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE";
    return error;
  }
  error.kind = ErrorKind::not_possible;
  std::string& log = kept_log();
  error.hint = log.empty() ? "the kernel needs version 5.15 or newer with CONFIG_BPF_SYSCALL, "
                             "CONFIG_BPF_EVENTS and CONFIG_UPROBE_EVENTS"
                           : "libbpf says: " + log.substr(0, 400);
  log.clear();
  return error;
}

}  // namespace jitscope
