// Which process a user means by a name: its comm, its executable, or a JVM's main class or jar.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace jitscope {

// What a JVM was told to run, as jps shows it: "com.example.Main", "/srv/app.jar", "module/class";
// "" when the words (without the program's own) name nothing.
[[nodiscard]] std::string java_main(const std::vector<std::string>& words);

// "Main" and "com.example.Main" for that class, "app" and "app.jar" for a jar.
[[nodiscard]] bool is_java_main(std::string_view name, std::string_view main);

// Errors: not_found; usage when several processes have the name, which are then in the hint. This
// process and those that run no program are not among them.
Result<pid_t> process_called(std::string_view name);

}  // namespace jitscope
