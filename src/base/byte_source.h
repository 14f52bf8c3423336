// ByteSource: bytes that come in order (a pipe) or can be asked for by offset (a file), behind one
// face, so that parsers need no system calls and tests feed them from memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jitscope {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // The next bytes, at least one; 0 at the end.
  virtual Result<size_t> read(std::span<std::byte> out) = 0;
  // Bytes at an offset, as many as are there; 0 at and beyond the end. Does not move read().
  // Only when seekable().
  virtual Result<size_t> read_at(uint64_t offset, std::span<std::byte> out) = 0;
  [[nodiscard]] virtual bool seekable() const = 0;
  // Size of a seekable source in bytes, as of the opening.
  [[nodiscard]] virtual uint64_t size() const = 0;
  // Names it in errors.
  [[nodiscard]] virtual std::string where() const = 0;
};

// A file or a pipe. "-" is standard input. A regular file is seekable.
Result<std::unique_ptr<ByteSource>> open_byte_source(const std::string& path);
// The same for an open descriptor, which it takes over.
Result<std::unique_ptr<ByteSource>> byte_source(UniqueFd fd, std::string where);
// Bytes in memory; `seekable` false behaves as a pipe that gives `piece` bytes at a time.
[[nodiscard]] std::unique_ptr<ByteSource> memory_source(std::vector<std::byte> bytes,
                                                        bool seekable = true, size_t piece = 4096);

}  // namespace jitscope
