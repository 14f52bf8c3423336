// Resolution: what one address of a process at one moment turned out to be, and for which other
// addresses and times the same holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "code/timeline.h"
#include "formats/perfdata/records.h"
#include "naming/frame.h"

namespace jitscope {

class PeFile;

struct LoadedDump;

// Addresses around one that was asked for, for which all answers are the same: each source that is
// asked narrows it.
struct AddressRange {
  uint64_t low = 0;
  uint64_t high = UINT64_MAX;  // inclusive

  void narrow(uint64_t first, uint64_t last) {
    low = std::max(low, first);
    high = std::min(high, last);
  }
  bool operator==(const AddressRange&) const = default;
};

// A body that a JIT source named, for those who write it down: what lay at [start, start + size).
// One entry for each body and each way it was shown (certain or ambiguous).
struct JitCode {
  std::shared_ptr<const LoadedDump> dump;  // null: a line of a perf map, or of one given by hand
  BodyId body = kNoBody;                   // of the dump
  uint64_t start = 0;
  uint64_t size = 0;  // 0: not known
  FrameId frame = 0;
  // Its bytes where a mapped file has them, for as long as the Resolver lives; else empty.
  std::span<const std::byte> code{};
  // The PE image that it is a function of, as long; else null.
  PeFile* image = nullptr;
  uint32_t rva = 0;
};

// What one address turned out to be, while it holds. Small: a recording has many.
struct Location {
  uint64_t ip = 0;             // in the process
  uint64_t shown_ip = 0;       // as perf script prints it: in ELF files relative to the file
  uint64_t symbol_offset = 0;  // from the symbol's start
  uint32_t dso = 0;            // NameTables::dso(): as perf script prints it
  FrameId frame = 0;           // the function's own
  uint32_t inlined = 0;        // NameTables::inlined(): what was inlined into it there
  uint32_t jit = 0;            // NameTables::jit_code(): the JIT's body; 0: none
  bool operator==(const Location&) const = default;
};
struct Resolution {
  Location location;
  uint64_t valid_from = 0;
  uint64_t valid_until = kForever;
  bool unmapped = false;  // holds until the process maps something
  // Addresses (of calls, for return addresses) for which the same holds: frame and file are the
  // same, shown_ip and symbol_offset go in step with ip (the offset of what has no symbol is 0).
  AddressRange range;
  bool named = false;  // symbol_offset is one
};

struct AddressQuery {
  uint64_t ip = 0;
  bool caller = false;  // ip is a return address: the call is before it
  perfdata::CpuMode mode = perfdata::CpuMode::user;
  uint64_t time = 0;
};

}  // namespace jitscope
