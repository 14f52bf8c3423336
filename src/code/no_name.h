// NoName: why a frame has no name, or none that is certain. Each reason has its text and what to do
// about it in one table (no_name.cc); what else a runtime can do stands with the runtime.
#pragma once

#include <cstdint>
#include <string_view>

namespace jitscope {

enum class NoName : uint8_t {
  none,  // it has one
  // JIT code.
  no_source,
  empty_dump,
  refused_source,
  no_body_then,
  after_last_look,
  no_line_there,
  replaced,
  map_rewritten,
  wasm_jump_table,
  // Mapped files.
  no_map_of_file,
  map_of_other_file,
  map_base_is_wrong,
  map_base_not_known,
  image_base_not_known,
  no_line_of_file,
  no_function_of_image,
  image_not_read,
  stripped,
  only_exported,
  not_all_read,
  no_time_left,
  no_symbol,
  file_changed,
  file_deleted,
  file_unreadable,
  elf_damaged,
  no_vdso,
  // The kernel and what is no code of a process.
  kernel_unreadable,
  other_machine,
  other_kernel,
  earlier_boot,
  no_kernel_symbol,
  vsyscall,
  hypervisor,
  guest,
  unknown_mode,
  // Anywhere.
  no_mapping,
  not_looked_for_process,  // only JIT code is wanted
  not_looked_for_elf,
  not_in_text,  // of a profile that was read from text
  // Names that are not certain.
  copied_text,
  ambiguous,
};

// The user gave a map of the file, and this is why it names nothing.
[[nodiscard]] constexpr bool is_of_given_map(NoName reason) {
  return reason >= NoName::map_of_other_file && reason <= NoName::no_line_of_file;
}

// A phrase without its full stop; "" for none. Stands in JSON output: users match it.
[[nodiscard]] std::string_view to_string(NoName reason);
// What helps, whatever the runtime; "" where nothing does, or only the runtime's own row tells.
[[nodiscard]] std::string_view advice_of(NoName reason);

}  // namespace jitscope
