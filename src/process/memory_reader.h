// MemoryReader: reads another address space. The real one is ProcessMemory (process_vm_readv);
// tests give a fake. Nothing here stops the target, so what is read may change between two reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace jitscope {

class MemoryReader {
 public:
  struct Range {
    uint64_t address = 0;
    std::span<std::byte> out;
    bool ok = false;  // set by read_many: all bytes of the range were read
  };

  virtual ~MemoryReader() = default;

  // All of `out` from `address`, or an error (target_gone when the process is no more).
  virtual Status read(uint64_t address, std::span<std::byte> out) = 0;

  // Many ranges in as few system calls as possible; a range that cannot be read has ok == false and
  // does not keep the others from being read.
  virtual void read_many(std::span<Range> ranges) {
    for (Range& range : ranges) range.ok = read(range.address, range.out).has_value();
  }
};

}  // namespace jitscope
