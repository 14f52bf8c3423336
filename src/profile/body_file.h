// BodyFile: the jitdump file into which the follower writes what it learns about one process.
//
// What a look found goes out in a few writes of whole records, and the file gets its name after the
// first of them: a killed recording leaves files that readers take, cut within a record at most.
// The bytes of the code are read from the process as it is found; what cannot be read any more is
// zeros.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "formats/jitdump/jitdump.h"
#include "process/memory_reader.h"

namespace jitscope {

class BodyFile {
 public:
  // A code body of more bytes than this is no code body.
  static constexpr uint64_t kLargestBody = 64U << 20U;
  // No file grows beyond this.
  static constexpr uint64_t kLargestFile = 4ULL << 30U;

  // Nothing is created before the first body. `path` must not exist then.
  BodyFile(std::string path, pid_t pid)
      : path_(std::move(path)), pid_(static_cast<uint32_t>(pid)), writer_(pid_) {}

  struct Body {
    uint64_t since = 0;  // 0: the same as `time`
    uint64_t time = 0;
    uint64_t address = 0;
    uint64_t size = 0;
    std::string_view name;
  };
  // Writes them down in this order. `memory` is the process's.
  Status load(std::span<const Body> bodies, MemoryReader& memory);
  void gone(uint64_t address, uint64_t size, uint64_t time);
  // What gone() noted; load() takes it along, in its place.
  Status flush();
  // The end of what is known about the process.
  Status close(uint64_t time);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool created() const { return file_.valid(); }
  [[nodiscard]] uint64_t bytes() const { return written_; }

 private:
  [[nodiscard]] std::string unfinished() const { return path_ + ".new"; }
  Status create(uint64_t time);
  Status write_out();

  std::string path_;
  uint32_t pid_;
  jitdump::Writer writer_;
  UniqueFd file_;
  std::string pending_;
  uint64_t written_ = 0;
  bool named_ = false;
};

}  // namespace jitscope
