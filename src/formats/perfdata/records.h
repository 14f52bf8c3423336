// The records of a perf.data stream as structs (linux: include/uapi/linux/perf_event.h,
// tools/perf/Documentation/perf.data-file-format.txt).
//
// Views (string_view, span) point into the reader's buffers and are valid only during the call that
// hands the record out. Addresses are virtual addresses of the process, times nanoseconds of the
// clock that the recording used (perfdata Header tells which), 0 where the record carries none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace jitscope::perfdata {

enum class RecordType : uint32_t {
  mmap = 1,
  lost = 2,
  comm = 3,
  exit = 4,
  throttle = 5,
  unthrottle = 6,
  fork = 7,
  read = 8,
  sample = 9,
  mmap2 = 10,
  aux = 11,
  itrace_start = 12,
  lost_samples = 13,
  switch_ = 14,
  switch_cpu_wide = 15,
  namespaces = 16,
  ksymbol = 17,
  bpf_event = 18,
  cgroup = 19,
  text_poke = 20,
  aux_output_hw_id = 21,
  header_attr = 64,
  header_event_type = 65,
  tracing_data = 66,
  build_id = 67,
  finished_round = 68,
  id_index = 69,
  auxtrace_info = 70,
  auxtrace = 71,
  auxtrace_error = 72,
  thread_map = 73,
  cpu_map = 74,
  stat_config = 75,
  stat = 76,
  stat_round = 77,
  event_update = 78,
  time_conv = 79,
  header_feature = 80,
  compressed = 81,
  finished_init = 82,
  compressed2 = 83,
};

// PERF_RECORD_MISC_CPUMODE_*.
enum class CpuMode : uint8_t { unknown, kernel, user, hypervisor, guest_kernel, guest_user };

// Markers inside a callchain (enum perf_callchain_context): every value at or above this one.
inline constexpr uint64_t kContextMax = static_cast<uint64_t>(-4095);
inline constexpr uint64_t kContextHypervisor = static_cast<uint64_t>(-32);
inline constexpr uint64_t kContextKernel = static_cast<uint64_t>(-128);
inline constexpr uint64_t kContextUser = static_cast<uint64_t>(-512);
inline constexpr uint64_t kContextGuest = static_cast<uint64_t>(-2048);
inline constexpr uint64_t kContextGuestKernel = static_cast<uint64_t>(-2176);
inline constexpr uint64_t kContextGuestUser = static_cast<uint64_t>(-2560);

// What every record has, from the record itself or its sample_id trailer.
struct RecordHead {
  RecordType type{};
  uint16_t misc = 0;
  uint32_t pid = 0;  // of the trailer (for COMM, FORK, EXIT the body's are in the body)
  uint32_t tid = 0;
  uint64_t time = 0;
  bool has_time = false;
  uint64_t id = 0;
  uint32_t cpu = UINT32_MAX;
  uint64_t offset = 0;  // of the record in the file (of the compressed record that held it)
  std::span<const std::byte> bytes;  // the whole record as recorded (unpacked), its head included
};

struct Sample {
  RecordHead head;  // pid, tid, time, cpu
  CpuMode mode = CpuMode::unknown;
  uint32_t event = 0;  // index into Header::events
  uint64_t ip = 0;
  uint64_t address = 0;  // data address
  uint64_t period = 0;
  // Leaf first, with the context markers; empty when the event records none.
  std::span<const uint64_t> callchain;
  uint64_t user_regs_abi = 0;  // 0 none, 1 32-bit, 2 64-bit
  uint64_t user_regs_mask = 0;
  std::span<const uint64_t> user_regs;    // one for each set bit of the mask, lowest bit first
  std::span<const std::byte> user_stack;  // from the stack pointer up; as much as was copied
  std::span<const std::byte> raw;
};

struct Mmap {
  uint32_t pid = 0;  // UINT32_MAX: kernel
  uint32_t tid = 0;
  uint64_t start = 0;
  uint64_t length = 0;
  uint64_t page_offset = 0;  // bytes into the file
  std::string_view path;
  bool executable = false;  // PROT_EXEC (MMAP2), or not a data mapping (MMAP)
  bool shared = false;      // MAP_SHARED (MMAP2)
  bool kernel = false;      // misc says kernel or guest kernel
  bool guest = false;
  bool has_inode = false;  // major .. generation
  uint32_t major = 0;
  uint32_t minor = 0;
  uint64_t inode = 0;
  uint64_t generation = 0;
  std::span<const std::byte> build_id;  // empty when the record has none
};
struct Comm {
  uint32_t pid = 0;
  uint32_t tid = 0;
  std::string_view name;
  bool exec = false;
};
struct Fork {  // also EXIT
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  uint32_t tid = 0;
  uint32_t parent_tid = 0;
  uint64_t time = 0;
};
struct Exit : Fork {};
struct Lost {
  uint64_t count = 0;
  bool samples = false;  // LOST_SAMPLES: samples; LOST: records of any type
};
struct Switch {
  bool out = false;
  uint32_t other_pid = 0;
  uint32_t other_tid = 0;
};
struct Namespaces {
  uint32_t pid = 0;
  uint32_t tid = 0;
  struct Link {
    uint64_t device = 0;
    uint64_t inode = 0;
  };
  // Index as in perf_event.h: net, uts, ipc, pid, user, mnt, cgroup.
  std::array<Link, 7> links{};
  size_t count = 0;
};
struct Ksymbol {
  uint64_t address = 0;
  uint32_t length = 0;
  uint16_t kind = 0;  // 1 BPF, 2 out-of-line (kprobe, ftrace trampolines)
  bool unregister = false;
  std::string_view name;
};
struct BpfEvent {
  uint16_t kind = 0;  // 1 loaded, 2 unloaded
  uint32_t id = 0;
  std::span<const std::byte> tag;
};
struct Cgroup {
  uint64_t id = 0;
  std::string_view path;
};
struct BuildId {  // PERF_RECORD_HEADER_BUILD_ID, from the stream or the feature section
  int32_t pid = 0;
  bool kernel = false;
  std::span<const std::byte> id;
  std::string_view path;
};
// Known types that carry nothing to act on here, and unknown ones.
struct Other {
  std::span<const std::byte> body;
};

using Body = std::variant<Mmap, Comm, Fork, Exit, Lost, Switch, Namespaces, Ksymbol, BpfEvent,
                          Cgroup, BuildId, Other>;
struct Record {
  RecordHead head;
  Body body;
};

}  // namespace jitscope::perfdata
