#include "perf_event/perf_ring.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace jitscope {

Result<PerfRing> PerfRing::map(int event_fd, size_t bytes) {
  const auto page = static_cast<size_t>(std::max(::sysconf(_SC_PAGESIZE), 4096L));
  // Writable: the kernel then keeps what was not read yet, and counts what did not fit.
  void* base = ::mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event_fd, 0);
  if (base == MAP_FAILED) return fail(system_error("cannot map the ring buffer of an event"));
  return PerfRing(base, page, bytes);
}

PerfRing::PerfRing(PerfRing&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      page_(other.page_),
      bytes_(std::exchange(other.bytes_, 0)) {}

PerfRing& PerfRing::operator=(PerfRing&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(page_, other.page_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PerfRing::~PerfRing() {
  if (base_ != nullptr) ::munmap(base_, page_ + bytes_);
}

size_t PerfRing::read(std::string& out) {
  if (base_ == nullptr) return 0;
  auto* meta = static_cast<perf_event_mmap_page*>(base_);
  const char* data = static_cast<const char*>(base_) + page_;
  // Pairs with the kernel's barrier between the records and data_head (perf_output_put_handle).
  const uint64_t head = __atomic_load_n(&meta->data_head, __ATOMIC_ACQUIRE);
  const uint64_t tail = meta->data_tail;  // only this process writes it
  const uint64_t size = std::min<uint64_t>(head - tail, bytes_);
  const size_t begin = static_cast<size_t>(tail & (bytes_ - 1));
  const size_t first = std::min<size_t>(static_cast<size_t>(size), bytes_ - begin);
  out.append(data + begin, first);
  out.append(data, static_cast<size_t>(size) - first);
  // The bytes must have been copied before the kernel may write there again.
  __atomic_store_n(&meta->data_tail, head, __ATOMIC_RELEASE);
  return static_cast<size_t>(size);
}

}  // namespace jitscope
