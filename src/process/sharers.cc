// By kcmp(2), which compares the address spaces of two processes.
#include "process/sharers.h"

#include <fmt/format.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"
#include "process/tasks.h"

namespace jitscope {
namespace {

bool same_memory(pid_t one, pid_t other) {
  return ::syscall(SYS_kcmp, one, other, KCMP_VM, 0UL, 0UL) == 0;
}

}  // namespace

std::vector<pid_t> sharers(const Process& process) {
  // A leader that has exited has no memory, and two such have the same none.
  const pid_t thread = live_thread(process.pid());
  std::vector<pid_t> found = list_processes();
  std::erase_if(found,
                [&](pid_t pid) { return pid == process.pid() || !same_memory(thread, pid); });
  // Those of a process that ends at this moment are none of its own.
  return process.same_address_space() ? found : std::vector<pid_t>{};
}

pid_t vfork_child(pid_t pid, pid_t tid) {
  const auto text = read_text_file(fmt::format("/proc/{}/task/{}/children", pid, tid), 1U << 20U);
  if (!text) return 0;
  ByteCursor cursor{std::string_view(*text)};
  std::string_view rest = cursor.line();
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(' '), rest.size());
    const auto child = parse_decimal(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (child && same_memory(tid, static_cast<pid_t>(*child))) return static_cast<pid_t>(*child);
  }
  return 0;
}

}  // namespace jitscope
