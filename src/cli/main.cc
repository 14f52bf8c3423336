// jitscope: the command. What a process of it needs before anything else; command_line.h goes on.

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>

#include "cli/command.h"
#include "cli/command_line.h"
#include "session/session.h"

namespace {

// A closed standard descriptor would be given to the next file that is opened, and what is meant
// for the user would be written there. Opened the wrong way round, so that writing fails and is
// reported.
void keep_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0)
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// A file that may not grow further (ulimit -f) is an error of the write like a full disk, not the
// end. A handler, not SIG_IGN: what is ignored would be so in recorded commands too.
void survive_file_limits() {
  struct sigaction action = {};
  action.sa_handler = [](int /*signal*/) {};
  action.sa_flags = static_cast<int>(SA_RESTART);
  ::sigaction(SIGXFSZ, &action, nullptr);
}

// Commands live for a moment and read tables of many megabytes: a fault for each 4 KiB of them, and
// again for what was given back, was a tenth of a report. So the heap begins with room in large
// pages, of which only those count that are touched, and what is freed stays. Where any of this
// does not work, it is only slower.
void use_large_pages_for_heap() {
  constexpr int room = 128 << 20;
  constexpr uintptr_t large_page = uintptr_t{2} << 20U;
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 2 * room);
  ::mallopt(M_TOP_PAD, room);
  // Threads take theirs from it too.
  ::mallopt(M_ARENA_MAX, 1);
  // More than is there, so that the heap grows; a compiler that sees the pointer leaves it out.
  void* volatile more = std::malloc(size_t{1} << 20U);
  std::free(more);
  const auto end = reinterpret_cast<uintptr_t>(::sbrk(0));
  const uintptr_t first = (end - room + large_page - 1) / large_page * large_page;
  ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
  // What lies before the first large page stays unused, and untouched.
  const auto place = reinterpret_cast<uintptr_t>(more);
  constexpr uintptr_t head = 64;
  if (place + head < first) {
    void* volatile unused = std::malloc(first - place - head);
    (void)unused;
  }
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_descriptors();
  survive_file_limits();
  use_large_pages_for_heap();
  jitscope::Session::leave_tables();
  try {
    // Started without even its own name, it has no words either.
    return jitscope::run_command_line({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const std::exception& error) {
    // Nothing of ours throws; what is left is a lack of memory, or a fault of a library.
    jitscope::report_note(fmt::format("jitscope: {}", error.what()));
    return 3;
  }
}
