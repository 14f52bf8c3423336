// Where a symbol that an ELF file exports lies in a process that runs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace jitscope {

// Of a variable in .dynsym. `path` as the process names it, inside `root`; the file's lowest
// mapping begins at `base`. Nothing when it is not there, or the file is not to be read.
[[nodiscard]] std::optional<uint64_t> exported_variable(const std::string& root,
                                                        const std::string& path, uint64_t base,
                                                        std::string_view name);

}  // namespace jitscope
