// jitscope: the command. Each verb stands in a file of its own; this one is the table of contents.

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <sstream>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/habits.h"
#include "profile/session.h"

namespace {

// CLI11's own way of saying "help was asked for" is an error with code 0. Its messages repeat what
// was typed, which may be a name of a stranger.
int end_of_parsing(const CLI::App& app, const CLI::Error& error,
                   const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream errors;
  const bool fine = app.exit(error, out, errors) == 0;
  jitscope::write_out(out.str());
  jitscope::write_error(errors.str());
  if (fine) return jitscope::status_with_output(0);
  jitscope::write_error(jitscope::habit_hint(words));
  return 2;
}

int run(int argc, char** argv) {
  CLI::App app{
      "jitscope gives code that a JIT wrote what ELF code has always had: names, probe points and\n"
      "ELF images, on running programs, without restarting or changing them."};
  app.name("jitscope");
  app.set_version_flag("--version", fmt::format("jitscope {}", JITSCOPE_VERSION));
  app.require_subcommand(1);
  app.failure_message([](const CLI::App* command, const CLI::Error& error) {
    // One line, whatever line ends were typed.
    const CLI::Error shown(error.get_name(), jitscope::printable(error.what()),
                           error.get_exit_code());
    return CLI::FailureMessage::simple(command, shown);
  });
  app.footer(
      "Exit status: 0 done, 1 nothing found or nothing named, 2 wrong usage, 3 not permitted or "
      "not\n"
      "possible here, 4 the target died.\n");
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  int status = 0;
  jitscope::add_ps_command(app, status);
  jitscope::add_methods_command(app, status);
  jitscope::add_trace_command(app, status);
  jitscope::add_expose_command(app, status);
  jitscope::add_record_command(app, status);
  jitscope::add_script_command(app, status);
  jitscope::add_report_command(app, status);
  jitscope::add_flame_command(app, status);
  jitscope::add_inject_command(app, status);
  jitscope::add_doctor_command(app, status);
  jitscope::add_agent_command(app, status);
  jitscope::add_map_command(app, status);
  jitscope::add_image_command(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError& error) {
    // CLI11 only says that a subcommand is missing.
    const auto is_command = [&](const CLI::App* each) { return each->get_name() == argv[1]; };
    const auto commands = app.get_subcommands({});
    if (argc < 2 || argv[1][0] == '-' || std::ranges::any_of(commands, is_command)) {
      return end_of_parsing(app, error, words);
    }
    jitscope::report_note(
        fmt::format("jitscope has no command '{}'; jitscope --help lists them", argv[1]));
    return 2;
  } catch (const CLI::ParseError& error) {
    return end_of_parsing(app, error, words);
  }
  return status;
}

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
  // More than is there, so that the heap grows; a compiler that sees the pointer leaves it out.
  void* volatile more = std::malloc(size_t{1} << 20U);
  std::free(more);
  const auto end = reinterpret_cast<uintptr_t>(::sbrk(0));
  const uintptr_t first = (end - room + large_page - 1) / large_page * large_page;
  ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_descriptors();
  survive_file_limits();
  use_large_pages_for_heap();
  jitscope::Session::leave_tables();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    // Nothing of ours throws; what is left is a lack of memory, or a fault of a library.
    jitscope::report_note(fmt::format("jitscope: {}", error.what()));
    return 3;
  }
}
