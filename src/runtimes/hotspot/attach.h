// A client of HotSpot's attach protocol (src/hotspot/os/posix/attachListener_posix.cpp): sends one
// command to a JVM and gives its answer, also across pid, mount and user namespaces.
//
// How: the JVM listens on the socket /tmp/.java_pid<pid in its namespace>. It opens that socket
// when it gets SIGQUIT while a file .attach_pid<pid> of its own user exists; without the file
// SIGQUIT prints a thread dump, and in a JVM that does not handle the signal (-Xrs) it would end
// the process. So the signal is sent only when the file could be made and SIGQUIT is in the
// process's mask of caught signals.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "process/process.h"

namespace jitscope {

// Ok when nothing speaks against attaching: a HotSpot JVM that listens already or handles SIGQUIT,
// and allows it. Changes nothing.
Status can_attach(const Process& process);

// The JVM's output for `command` ("jcmd", "threaddump", ...) with at most three arguments. The
// error is damaged when the answer makes no sense, not_possible with the JVM's own words when it
// refused.
Result<std::string> attach_command(const Process& process, std::string_view command,
                                   std::span<const std::string> arguments = {},
                                   std::chrono::milliseconds deadline = std::chrono::seconds(10));

}  // namespace jitscope
