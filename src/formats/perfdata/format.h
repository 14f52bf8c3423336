// The bits and sizes of perf.data, as the kernel and perf define them (uapi/linux/perf_event.h,
// perf.data-file-format.txt). Spelled out here so that files of newer perfs are read wherever this
// is built.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jitscope::perfdata {

inline constexpr size_t kFileHeaderSize = 104;
inline constexpr size_t kPipeHeaderSize = 16;
inline constexpr size_t kRecordHeadSize = 8;
inline constexpr size_t kSmallestAttr = 64;
inline constexpr size_t kLargestRecord = 65535;
inline constexpr size_t kWord = sizeof(uint64_t);
// FINISHED_INIT and the like begin here; no such record has a sample_id trailer.
inline constexpr uint32_t kFirstUserType = 64;

namespace sample_bit {
inline constexpr uint64_t kIp = 1U << 0U;
inline constexpr uint64_t kTid = 1U << 1U;
inline constexpr uint64_t kTime = 1U << 2U;
inline constexpr uint64_t kAddress = 1U << 3U;
inline constexpr uint64_t kRead = 1U << 4U;
inline constexpr uint64_t kCallchain = 1U << 5U;
inline constexpr uint64_t kId = 1U << 6U;
inline constexpr uint64_t kCpu = 1U << 7U;
inline constexpr uint64_t kPeriod = 1U << 8U;
inline constexpr uint64_t kStreamId = 1U << 9U;
inline constexpr uint64_t kRaw = 1U << 10U;
inline constexpr uint64_t kBranchStack = 1U << 11U;
inline constexpr uint64_t kRegsUser = 1U << 12U;
inline constexpr uint64_t kStackUser = 1U << 13U;
inline constexpr uint64_t kWeight = 1U << 14U;
inline constexpr uint64_t kDataSource = 1U << 15U;
inline constexpr uint64_t kIdentifier = 1U << 16U;
inline constexpr uint64_t kTransaction = 1U << 17U;
inline constexpr uint64_t kRegsIntr = 1U << 18U;
inline constexpr uint64_t kPhysicalAddress = 1U << 19U;
inline constexpr uint64_t kAux = 1U << 20U;
inline constexpr uint64_t kCgroup = 1U << 21U;
inline constexpr uint64_t kDataPageSize = 1U << 22U;
inline constexpr uint64_t kCodePageSize = 1U << 23U;
inline constexpr uint64_t kWeightStruct = 1U << 24U;
}  // namespace sample_bit

namespace read_bit {
inline constexpr uint64_t kEnabled = 1U << 0U;
inline constexpr uint64_t kRunning = 1U << 1U;
inline constexpr uint64_t kId = 1U << 2U;
inline constexpr uint64_t kGroup = 1U << 3U;
inline constexpr uint64_t kLost = 1U << 4U;
}  // namespace read_bit

namespace branch_bit {
inline constexpr uint64_t kHardwareIndex = 1U << 17U;
inline constexpr uint64_t kCounters = 1U << 19U;
}  // namespace branch_bit

// Flags of perf_event_attr, one word of bit fields.
namespace attr_bit {
inline constexpr uint64_t kExcludeUser = 1ULL << 4U;
inline constexpr uint64_t kExcludeKernel = 1ULL << 5U;
inline constexpr uint64_t kExcludeHypervisor = 1ULL << 6U;
inline constexpr uint64_t kFrequency = 1ULL << 10U;
inline constexpr unsigned kPreciseShift = 15;
inline constexpr uint64_t kSampleIdAll = 1ULL << 18U;
inline constexpr uint64_t kUseClockId = 1ULL << 25U;
}  // namespace attr_bit

// perf_event_header::misc; bits 13 to 15 mean something else for each type.
namespace misc_bit {
inline constexpr uint16_t kCpuModeMask = 7;
inline constexpr uint16_t kMmapData = 1U << 13U;
inline constexpr uint16_t kCommExec = 1U << 13U;
inline constexpr uint16_t kSwitchOut = 1U << 13U;
inline constexpr uint16_t kMmapBuildId = 1U << 14U;
inline constexpr uint16_t kBuildIdSize = 1U << 15U;
}  // namespace misc_bit

// Where fields of MMAP and MMAP2 records lie, from the start of the record.
inline constexpr size_t kMmapStart = 16;
inline constexpr size_t kMmapLength = 24;
inline constexpr size_t kMmapOffset = 32;

// Bits of the feature bitmap, also the ids of HEADER_FEATURE records.
enum class Feature : uint64_t {
  tracing_data = 1,
  build_id = 2,
  hostname = 3,
  os_release = 4,
  version = 5,
  arch = 6,
  cpu_count = 7,
  cpu_description = 8,
  cpu_id = 9,
  total_memory = 10,
  command_line = 11,
  event_descriptions = 12,
  sample_time = 21,
  clockid = 23,
  compressed = 27,
  clock_data = 29,
};
inline constexpr uint64_t kFeatureBits = 256;

}  // namespace jitscope::perfdata
