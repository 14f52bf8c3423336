// PerfRing: the ring buffer that the kernel fills for the perf events of one CPU
// (include/uapi/linux/perf_event.h, struct perf_event_mmap_page; kernel/events/ring_buffer.c).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace jitscope {

class PerfRing {
 public:
  PerfRing() = default;
  // `bytes` is a power of two of at least a page. The event must stay open.
  static Result<PerfRing> map(int event_fd, size_t bytes);
  PerfRing(PerfRing&& other) noexcept;
  PerfRing& operator=(PerfRing&& other) noexcept;
  PerfRing(const PerfRing&) = delete;
  PerfRing& operator=(const PerfRing&) = delete;
  ~PerfRing();

  // Appends the records that are there, in one piece even where they lie around the end of the
  // ring, and gives their room back to the kernel. How many bytes.
  size_t read(std::string& out);
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  PerfRing(void* base, size_t page, size_t bytes) : base_(base), page_(page), bytes_(bytes) {}
  void* base_ = nullptr;
  size_t page_ = 0;
  size_t bytes_ = 0;
};

}  // namespace jitscope
