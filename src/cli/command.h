// What the commands share: messages, exit status, Ctrl-C, output that may be a closed pipe.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace jitscope::CLI {
class App;
}

namespace jitscope {

// A registered command: parses into its own options and runs after CLI11 has parsed. Each is
// defined in the file of its name.
void add_ps_command(CLI::App& app, int& status);
void add_methods_command(CLI::App& app, int& status);
void add_trace_command(CLI::App& app, int& status);
void add_expose_command(CLI::App& app, int& status);
void add_record_command(CLI::App& app, int& status);
void add_inject_command(CLI::App& app, int& status);
void add_script_command(CLI::App& app, int& status);
void add_report_command(CLI::App& app, int& status);
void add_flame_command(CLI::App& app, int& status);
void add_doctor_command(CLI::App& app, int& status);
void add_agent_command(CLI::App& app, int& status);
void add_map_command(CLI::App& app, int& status);
void add_image_command(CLI::App& app, int& status);

// --source FOLDER, which is kept as an absolute path: what is written is read from elsewhere.
void add_source_folder_option(CLI::App& command, std::string& folder, const std::string& about);
// For CLI11's check(): "" for a number of seconds above 0, else what is wrong
// (cli/target.h turns the units that users write to seconds).
std::string check_seconds(const std::string& text);

// What a terminal would obey (base/printable.h) leaves by none of the ways below: names of
// strangers may be in any text.

// "jitscope: ..." on standard error, with the hint on a line of its own; the exit status.
int report_error(const Error& error);
// One line on standard error.
void report_note(std::string_view text);
// Lines on standard error.
void write_error(std::string_view lines);
// That another tracer of the target is waited for, and why.
void report_wait(const Error& why);

// Standard output, as a file, a terminal or a pipe whose reader may stall, go away or fail.
class Output {
 public:
  // Writes what can be written without waiting for a reader, at most `wait` for the first byte, and
  // removes it from `text` (what stays is in its printable form). False when nobody will read the
  // rest: the pipe is closed (that is fine), or writing failed (then error() says so).
  bool write_some(std::string& text, std::chrono::milliseconds wait);
  // All of it; waits for the reader until the user interrupts more than `allowed_interrupts` times.
  bool write_all(std::string text, int allowed_interrupts = 0);
  // A large piece of whole lines, as fast as the reader takes it; false as above, and when the user
  // interrupts.
  bool write_bulk(std::string_view text);
  // Text that its maker has made printable already, line by line: gigabytes need no second look.
  bool write_printable(std::string_view text);
  // The error of a failed write (not of a closed pipe); the command ends with it.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  std::optional<Error> error_;
  std::string cut_;  // the rest of a character of which write_some() wrote the beginning
};
Output& output();
// output().write_all(text).
bool write_out(std::string_view text);
// 3 and a message when a write failed, else `status`.
int status_with_output(int status);

// SIGINT, SIGTERM and SIGHUP ask the command to end; SIGPIPE is ignored (write_out tells).
void catch_interrupts();
// How often the user asked: 1 = end and print, 2 = leave at once (the target is still put back).
// Signals within half a second are one request: `timeout` signals its child and then the group,
// and a terminal that closes sends SIGHUP besides.
[[nodiscard]] int interrupts();
// Readable from the first of them on; for waits that one of them must end at once. -1: there is
// none.
[[nodiscard]] int interrupt_fd();

}  // namespace jitscope
