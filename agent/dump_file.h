// DumpFile: the file jit-<pid>.dump that the agent writes, and the mapping that tells perf of it.
//
// Relies on: the file is ours alone. It is made new (O_EXCL, O_NOFOLLOW, 0600) and locked; one that
// is there already is moved to jit-<pid>.dump.old when it is ours and nobody holds its lock. The
// default folder /tmp/jitscope-<uid> must be a folder of this user that nobody else can write or
// read; a folder that the user named (dir=, $JITDUMPDIR) is taken as it is, and made when missing.
//
// Not thread-safe: the recorder has one lock for all it does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jitscope::agent {

class DumpFile {
 public:
  // `directory`: what the option says; "": $JITDUMPDIR, else /tmp/jitscope-<uid>.
  static Result<std::unique_ptr<DumpFile>> create(const std::string& directory);
  // In a folder that must be private, made when it is missing.
  static Result<std::unique_ptr<DumpFile>> create_private(const std::string& directory);

  DumpFile(const DumpFile&) = delete;
  DumpFile& operator=(const DumpFile&) = delete;

  // Maps the file executable, which is what makes perf read it; not an error when the file system
  // does not allow it (noexec), but then perf finds it by no other way.
  Status map_marker();
  // All of it, or nothing: what was written of records that do not fit is taken back.
  Status append(std::string_view records);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  DumpFile(UniqueFd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  static Result<std::unique_ptr<DumpFile>> create_at(const UniqueFd& folder,
                                                     const std::string& directory);
  UniqueFd file_;
  std::string path_;
  uint64_t size_ = 0;
};

// The path of the jitdump that this process maps already, by whichever agent; "" when none.
[[nodiscard]] std::string mapped_dump();

// The text of a file of /proc; "" when there is none.
[[nodiscard]] std::string read_proc_file(const char* path);

}  // namespace jitscope::agent
