// Where the symbols and the debug information of a stripped file lie, and which file had a given
// build-id.
//
// Looked for as gdb does: by build-id under each debug directory (.build-id/xx/yyy.debug) and in
// perf's cache (~/.debug); by the name in .gnu_debuglink, with its CRC, beside the file, in .debug
// beside it and under the debug directories; under the file's own path in a debug directory, when
// the build-id is equal; by debuginfod, when asked. Directories are tried inside the root first.
// A file that carries another build-id is never taken.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "symbolize/elf_file.h"

namespace jitscope {

// The debug file of `file` that has the section `wanted` (".symtab", ".debug_info"), or nullptr.
// `left` says why one that is there was left alone: too large to check, or no time for it.
[[nodiscard]] std::unique_ptr<ElfFile> find_debug_file(const ElfFile& file,
                                                       const ElfImageOptions& options,
                                                       std::string_view wanted, std::string& left);

// The program or library with this build-id, or its debug file if that still tells where code lay
// in the program (eu-strip's do, objcopy's do not); or nullptr.
[[nodiscard]] std::unique_ptr<ElfFile> find_by_build_id(std::span<const std::byte> id,
                                                        const ElfImageOptions& options);

// The file that the debug information of `file` shares its strings with (dwz); nullptr when it
// shares none or the file is not there. `shares` tells which.
[[nodiscard]] std::unique_ptr<ElfFile> find_shared_debug_file(const ElfFile& file,
                                                              const ElfImageOptions& options,
                                                              bool& shares);

// The checksum of .gnu_debuglink over a whole file; nullopt when it cannot be read, or when its
// work is over (base/work_limit.h).
[[nodiscard]] std::optional<uint32_t> debug_link_checksum(int fd);
// Of the bytes of a file.
[[nodiscard]] std::optional<uint32_t> debug_link_checksum(std::span<const std::byte> bytes);

// Where the file that .gnu_debuglink names may lie, of a file at `path`, best first: inside of the
// options' root. Empty: the name is none of a file in a directory that we choose.
[[nodiscard]] std::vector<std::string> debug_link_paths(const std::string& path,
                                                        const std::string& name,
                                                        const ElfImageOptions& options);

// The client library of debuginfod is here. Without it nobody is asked.
[[nodiscard]] bool debuginfod_available();

}  // namespace jitscope
