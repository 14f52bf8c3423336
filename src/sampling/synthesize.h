// What a recording must say about processes and the kernel as they were when it began: the records
// that the kernel sends only when something changes (perf's tools/perf/util/synthetic-events.c does
// the same). All of them have the time 0: before everything else.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/perfdata/record_builder.h"
#include "process/maps.h"
#include "process/memory_reader.h"

namespace jitscope {

// NAMESPACES of the process, FORK and COMM of every thread. Nothing for one that has ended.
void append_thread_records(std::string& out, const perfdata::RecordBuilder& builder, pid_t pid);

// The mappings of `maps` that hold the header of a PE image (Wine, .NET) and are not executable: of
// an image that was loaded before the recording nothing else may say which file it is. By the first
// bytes in the process's memory, or where that may not be read (Yama lets ordinary users read only
// what their own children have) by those of the file, inside the process's root.
[[nodiscard]] std::vector<Mapping> image_headers(pid_t pid, const std::vector<Mapping>& maps);
[[nodiscard]] std::vector<Mapping> image_headers(MemoryReader& memory, const std::string& root,
                                                 const std::vector<Mapping>& maps);

// MMAP2 of every executable mapping, and of those of image_headers() as data; of another time (and
// then with the event's id) where the mappings are found later.
void append_mapping_records(std::string& out, const perfdata::RecordBuilder& builder, pid_t pid,
                            const std::vector<Mapping>& maps, uint64_t time = 0, uint64_t id = 0);

// What the kernel's own code is called: MMAP of its text and its modules. not_permitted when the
// kernel hides its addresses (kernel.kptr_restrict).
struct KernelTexts {
  std::string_view kallsyms;     // of /proc/kallsyms
  std::string_view modules;      // of /proc/modules
  std::string_view modules_dep;  // of module_folder/modules.dep
  std::string module_folder;     // "/lib/modules/6.1.0"
};
Status append_kernel_records(std::string& out, const perfdata::RecordBuilder& builder,
                             const KernelTexts& texts);
// The same for the running kernel, and KSYMBOL of its BPF programs where they may be listed.
Status append_kernel_records(std::string& out, const perfdata::RecordBuilder& builder);

}  // namespace jitscope
