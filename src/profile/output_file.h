// OutputFile: a file that is there whole or not at all: written without a name (or beside its own,
// where a file system wants one), and named when it is complete. A process that ends before, by
// whatever signal, leaves nothing.
//
// Only a regular file is ever replaced, never a device, a link or a folder. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jitscope {

class OutputFile {
 public:
  // Open for reading and writing, and empty. Errors: usage when the name is taken (with `replace`:
  // by what is no regular file), else what the system says.
  static Result<OutputFile> create(std::string path, bool replace);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  // The same open file once more.
  [[nodiscard]] Result<UniqueFd> duplicate() const;
  // Names it. Without `replace` a name that was taken meanwhile is left alone.
  Status commit(mode_t mode);

 private:
  OutputFile() = default;
  void discard();
  Status link_to(const std::string& name) const;

  std::string path_;
  std::string beside_;  // its name until it is complete; "" when it has none
  UniqueFd fd_;
  bool replace_ = false;
};

}  // namespace jitscope
