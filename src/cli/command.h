// What the commands share: messages, exit status, Ctrl-C, output that may be a closed pipe.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace CLI {
class App;
}

namespace jitscope {

// A registered command: parses into its own options and runs after CLI11 has parsed. Each is
// defined in the file of its name.
void add_ps_command(CLI::App& app, int& status);
void add_methods_command(CLI::App& app, int& status);
void add_trace_command(CLI::App& app, int& status);
void add_expose_command(CLI::App& app, int& status);

// "jitscope: ..." on standard error, with the hint on a line of its own; the exit status.
int report_error(const Error& error);
void report_note(std::string_view text);

// Standard output in one write; false when nobody reads it any more (then the command ends).
bool write_out(std::string_view text);

// SIGINT, SIGTERM and SIGHUP ask the command to end; SIGPIPE is ignored (write_out tells).
void catch_interrupts();
// How often the user asked: 1 = end and print, 2 = leave at once (the target is still put back).
[[nodiscard]] int interrupts();

}  // namespace jitscope
