// ElfOutput: bytes to places of a new file, by few pwrite calls. What nobody writes stays a hole;
// only gaps smaller than a block are filled, so that neighbours go out together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jitscope {

class ElfOutput {
 public:
  // Errors: not_possible when it is no regular file, or not empty.
  static Result<ElfOutput> open(UniqueFd fd);

  Status write(uint64_t offset, std::span<const std::byte> bytes);
  Status flush();
  // What was written before.
  Status read(uint64_t offset, std::span<std::byte> bytes);
  // The file is empty again.
  Status restart();
  // Where the file ends so far.
  [[nodiscard]] uint64_t end() const { return end_; }

 private:
  explicit ElfOutput(UniqueFd fd) : fd_(std::move(fd)) {}
  Status put(uint64_t offset, std::span<const std::byte> bytes);
  bool into_buffer(uint64_t offset, std::span<const std::byte> bytes);

  UniqueFd fd_;
  std::vector<std::byte> buffer_;
  size_t filled_ = 0;
  uint64_t start_ = 0;  // of the buffer, in the file
  uint64_t end_ = 0;
};

}  // namespace jitscope
