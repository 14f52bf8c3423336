// What the path of an executable mapping says about it (as /proc/PID/maps and MMAP records spell
// it; linux: fs/proc/task_mmu.c, tools/perf/util/map.c and dso.c). Pure text.
#pragma once

#include <cstdint>
#include <string_view>

namespace jitscope {

enum class MappingKind : uint8_t {
  file,          // a path in a file system; what it holds is told by its bytes
  anonymous,     // "//anon", "", "[anon:...]", "/anon_hugepage", "[heap]", "[stack...]", "/SYSV..."
  memory_file,   // "/memfd:...", "/dev/zero", "/dev/shm/...": memory behind a name
  deleted_file,  // "... (deleted)", not one of the above
  vdso,
  vsyscall,
  kernel,   // "[kernel.kallsyms]_text", "[guest.kernel...]", modules "[ext4]"
  special,  // "[uprobes]", "anon_inode:..." and other names in brackets
};

[[nodiscard]] MappingKind mapping_kind(std::string_view path);
// Memory that a JIT may have written: everything that cannot be an ELF file.
[[nodiscard]] bool is_jit_memory(MappingKind kind);
// "/a/b.so (deleted)" -> "/a/b.so".
[[nodiscard]] std::string_view without_deleted(std::string_view path);
// The last part of a path; names in brackets as they are.
[[nodiscard]] std::string_view mapping_base_name(std::string_view path);

}  // namespace jitscope
