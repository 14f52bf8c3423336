// MappedFile: a whole regular file, read only, in memory; and read_file for /proc files, whose size
// is not known beforehand. A file that shrinks while it is mapped would raise SIGBUS: only files
// that jitscope wrote, or ELF files, are mapped; files that strangers may still write go through
// read_file_bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace jitscope {

class MappedFile {
 public:
  // Fails for anything that is not a regular file.
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// The text of a file, at most `limit` bytes (more is an error).
Result<std::string> read_text_file(const std::string& path, size_t limit = 64U << 20U);

}  // namespace jitscope
