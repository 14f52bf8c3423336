// LargePages: an allocator for vectors of many megabytes that are read in no order. With pages of
// 4 KiB nearly each look misses the processor's table of pages, and in a virtual machine such a
// miss is expensive; large allocations are made of pages of 2 MiB where the kernel gives them out.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace jitscope {

template <typename T>
class LargePages {
 public:
  using value_type = T;

  LargePages() = default;
  template <typename U>
  explicit LargePages(const LargePages<U>& /*other*/) {}

  T* allocate(size_t count) {
    if (count > SIZE_MAX / 2 / sizeof(T)) throw std::bad_array_new_length();
    const size_t bytes = count * sizeof(T);
    if (bytes < kLarge) {
      return static_cast<T*>(::operator new(bytes, std::align_val_t(alignof(T))));
    }
    // A page more than needed, so that it can begin at the start of one.
    const size_t size = rounded(bytes);
    void* got =
        ::mmap(nullptr, size + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) throw std::bad_alloc();
    const auto address = reinterpret_cast<uintptr_t>(got);
    auto* const start = static_cast<std::byte*>(got) + (kPage - address % kPage) % kPage;
    const auto before = static_cast<size_t>(start - static_cast<std::byte*>(got));
    if (before != 0) ::munmap(got, before);
    if (before != kPage) ::munmap(start + size, kPage - before);
    ::madvise(start, size, MADV_HUGEPAGE);  // without it, it is only slower
    return reinterpret_cast<T*>(start);
  }
  void deallocate(T* place, size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < kLarge) {
      ::operator delete(place, std::align_val_t(alignof(T)));
    } else {
      ::munmap(static_cast<void*>(place), rounded(bytes));
    }
  }
  bool operator==(const LargePages& /*other*/) const { return true; }

 private:
  static constexpr size_t kPage = size_t{2} << 20U;
  static constexpr size_t kLarge = kPage;
  static constexpr size_t rounded(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
};

template <typename T>
using LargeVector = std::vector<T, LargePages<T>>;

}  // namespace jitscope
