// Memory that tests write machine code into and run.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace jitscope::test {

// Readable, writable and executable, anonymous; `text` is null when the system refuses.
class ExecutableMemory {
 public:
  explicit ExecutableMemory(size_t size) : size_(size) {
    void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED) text_ = static_cast<std::byte*>(at);
  }
  ExecutableMemory(const ExecutableMemory&) = delete;
  ExecutableMemory& operator=(const ExecutableMemory&) = delete;
  ~ExecutableMemory() {
    if (text_ != nullptr) ::munmap(text_, size_);
  }

  [[nodiscard]] bool valid() const { return text_ != nullptr; }
  [[nodiscard]] std::byte* at(size_t offset) const { return text_ + offset; }
  [[nodiscard]] uint64_t address(size_t offset = 0) const {
    return reinterpret_cast<uint64_t>(text_ + offset);
  }
  void write(size_t offset, std::span<const std::byte> bytes) const {
    std::memcpy(text_ + offset, bytes.data(), bytes.size());
  }

 private:
  std::byte* text_ = nullptr;
  size_t size_ = 0;
};

}  // namespace jitscope::test
