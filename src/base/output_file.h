// OutputFile: a file that is there whole or not at all: written without a name (or beside its own,
// where a file system wants one), and named when it is complete. A process that ends before, by
// whatever signal, leaves nothing.
//
// What is there is never opened and never written into. Only a regular file is ever replaced, by
// another one of its name: never a device, a link or a folder; nor, unless the user insists, a file
// that somebody else may have put there. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/output_folder.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace jitscope {

enum class Replace : uint8_t {
  never,
  own,  // a file of this user's, and any other in a folder where only he, its owner or root writes
  any,
};
// Whether what is at the place may be replaced; fine when nothing is. Errors: usage (taken; no
// regular file), not_permitted (of another user).
Status check_output(const OutputPlace& place, Replace replace);

class OutputFile {
 public:
  // Open for reading and writing, and empty. Errors: as check_output(), else what the system says.
  static Result<OutputFile> create(std::string path, Replace replace);
  static Result<OutputFile> create(OutputPlace place, Replace replace);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& path() const { return place_.path; }
  // The same open file once more.
  [[nodiscard]] Result<UniqueFd> duplicate() const;
  Status write(std::string_view text);
  // Names it. Without `replace` a name that was taken meanwhile is left alone.
  Status commit(mode_t mode);

 private:
  OutputFile() = default;
  Status create_beside();
  Status link_beside();
  void discard();

  OutputPlace place_;
  std::string beside_;  // its name until it is complete; "" when it has none
  UniqueFd fd_;
  Replace replace_ = Replace::never;
};

// The mode of a file that any program makes: 0666 less the umask.
[[nodiscard]] mode_t usual_file_mode();

}  // namespace jitscope
