// GrowingArray: a LargeVector for tables that grow to many megabytes while they are filled. A
// vector copies all to fresh pages each time, which the kernel has to clear first; here the pages
// themselves move (mremap), and what was never touched costs nothing.
//
// Elements are plain values; a new one is all zero bytes.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace jitscope {

template <typename T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(GrowingArray&& other) noexcept { swap(other); }
  GrowingArray& operator=(GrowingArray&& other) noexcept {
    GrowingArray(std::move(other)).swap(*this);
    return *this;
  }
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;
  ~GrowingArray() { release(data_, bytes_); }
  void swap(GrowingArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
    std::swap(bytes_, other.bytes_);
  }

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  [[nodiscard]] T* begin() { return data_; }
  [[nodiscard]] T* end() { return data_ + size_; }
  [[nodiscard]] const T* begin() const { return data_; }
  [[nodiscard]] const T* end() const { return data_ + size_; }
  void push_back(const T& value) {
    if (size_ == room_) [[unlikely]] {
      const T copy = value;  // it may lie in what moves
      make_room(size_ + 1);
      data_[size_++] = copy;
      return;
    }
    data_[size_++] = value;
  }
  // To more than before: nothing shrinks.
  void grow_to(size_t size) {
    if (size > room_) make_room(size);
    size_ = std::max(size_, size);
  }

 private:
  static constexpr size_t kPage = size_t{2} << 20U;

  // Address space that begins at the start of a large page.
  static std::byte* reserve(size_t bytes) {
    void* got = ::mmap(nullptr, bytes + kPage, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) throw std::bad_alloc();
    const size_t before = (kPage - reinterpret_cast<uintptr_t>(got) % kPage) % kPage;
    auto* const start = static_cast<std::byte*>(got) + before;
    if (before != 0) ::munmap(got, before);
    if (before != kPage) ::munmap(start + bytes, kPage - before);
    return start;
  }
  static void release(T* data, size_t bytes) {
    if (bytes >= kPage) {
      ::munmap(static_cast<void*>(data), bytes);
    } else if (bytes != 0) {
      ::operator delete(data, std::align_val_t(alignof(T)));
    }
  }
  void make_room(size_t size) {
    if (size > SIZE_MAX / 4 / sizeof(T)) throw std::bad_array_new_length();
    size_t bytes = std::max({size * sizeof(T), 2 * bytes_, 16 * sizeof(T)});
    if (bytes > kPage / 2) bytes = (bytes + kPage - 1) / kPage * kPage;
    T* const data = bytes < kPage ? small(bytes) : large(bytes);
    if (bytes_ < kPage) {
      if (size_ != 0) std::memcpy(static_cast<void*>(data), data_, size_ * sizeof(T));
      release(data_, bytes_);
    }
    data_ = data;
    bytes_ = bytes;
    room_ = bytes / sizeof(T);
  }
  static T* small(size_t bytes) {
    void* const data = ::operator new(bytes, std::align_val_t(alignof(T)));
    return static_cast<T*>(std::memset(data, 0, bytes));
  }
  // Pages, with what was in those before.
  T* large(size_t bytes) {
    std::byte* const start = reserve(bytes);
    void* got = MAP_FAILED;
    if (bytes_ < kPage) {
      got = ::mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                   -1, 0);
      if (got != MAP_FAILED) ::madvise(start, bytes, MADV_HUGEPAGE);  // without it, it is slower
    } else {
      got =
          ::mremap(static_cast<void*>(data_), bytes_, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, start);
    }
    if (got == MAP_FAILED) {
      ::munmap(start, bytes);
      throw std::bad_alloc();
    }
    return reinterpret_cast<T*>(start);
  }

  T* data_ = nullptr;
  size_t size_ = 0;
  size_t room_ = 0;
  size_t bytes_ = 0;
};

}  // namespace jitscope
