// The files of `inject`: the recording, which gets its name when it is whole, and the folder of its
// images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "formats/perfdata/writer.h"

namespace jitscope {

class InjectOutput final : public perfdata::FileOutput {
 public:
  // Errors: usage (`output` is there and not `force`, or is no regular file; it is `input`; the
  // folder is no folder, or not empty and not `force`).
  static Result<InjectOutput> create(const std::string& input, const std::string& output,
                                     const std::string& folder, bool force);
  InjectOutput(InjectOutput&&) noexcept;
  InjectOutput& operator=(InjectOutput&&) = delete;
  // What has not been kept is removed, images too.
  ~InjectOutput() override;

  Status append(std::span<const std::byte> bytes) override;
  // What was appended, or written over it.
  Status read(uint64_t offset, std::span<std::byte> bytes);
  Status overwrite(uint64_t offset, std::span<const std::byte> bytes) override;

  struct ImageFile {
    std::string path;  // absolute
    UniqueFd fd;       // new and empty, for reading and writing
  };
  Result<ImageFile> new_image(const std::string& name);
  // All is written: the recording gets its name.
  Status keep();

 private:
  InjectOutput() = default;
  Status flush();
  Status prepare_folder(const std::string& folder, bool force);
  [[nodiscard]] std::string unfinished() const { return path_ + ".part"; }

  std::string path_;
  std::string folder_;  // absolute
  UniqueFd fd_;
  bool made_folder_ = false;
  bool kept_ = true;
  std::vector<std::string> images_;
  std::vector<std::byte> buffer_;
  uint64_t written_ = 0;   // in the file; the buffer comes behind it
  uint64_t reserved_ = 0;  // room that the file system was asked for
};

}  // namespace jitscope
