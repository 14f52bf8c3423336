// What the values of options are: how help calls them, and what completion offers for them. One
// table for all commands, since an option means the same in each.
#pragma once

#include <string_view>

namespace jitscope {

enum class ValueKind {
  other,
  pid,      // a process with JIT code
  method,   // a pattern of methods
  event,    // an event of the recording
  field,    // of `script --fields`, several with commas
  row_key,  // of `report --sort`, several with commas
  recording_or_pid,
  file,
  folder,
  command,  // a program and its arguments
};

struct OptionValue {
  std::string_view name = "TEXT";  // "FILE"
  ValueKind kind = ValueKind::other;
};

// `option`: its long name, or the name of what stands without a dash.
[[nodiscard]] OptionValue option_value(std::string_view option);

}  // namespace jitscope
