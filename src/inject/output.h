// The files of `inject`: the recording, which gets its name when it is whole, and the folder of its
// images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "base/output_folder.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "formats/perfdata/writer.h"

namespace jitscope {

class InjectOutput final : public perfdata::FileOutput {
 public:
  // Errors: usage (`output` is there and not `force`, or is no regular file; it is `input`; the
  // folder is no folder, or not empty and not `force`), not_permitted (others own the output or the
  // folder, or may write into the folder).
  static Result<InjectOutput> create(const std::string& input, const std::string& output,
                                     const std::string& folder, bool force);
  InjectOutput(InjectOutput&&) noexcept;
  InjectOutput& operator=(InjectOutput&&) = delete;
  // What has not been kept is removed, images too; what an earlier run left is there still.
  ~InjectOutput() override;

  Status append(std::span<const std::byte> bytes) override;
  // What was appended, or written over it.
  Status read(uint64_t offset, std::span<std::byte> bytes);
  Status overwrite(uint64_t offset, std::span<const std::byte> bytes) override;

  struct ImageFile {
    std::string path;  // absolute, that it will have
    UniqueFd fd;       // new and empty, for reading and writing
  };
  Result<ImageFile> new_image(const std::string& name);
  // All is written: images of an earlier run go, and these and the recording get their names.
  Status keep();

 private:
  explicit InjectOutput(OutputFile file) : file_(std::move(file)) {}
  Status flush();
  Status prepare_folder(const std::string& folder, bool force);
  Status name_images();

  OutputFile file_;
  OwnFolder folder_;
  std::string folder_path_;  // absolute
  bool kept_ = true;
  std::vector<std::string> images_;  // names in the folder
  std::vector<std::byte> buffer_;
  uint64_t written_ = 0;   // in the file; the buffer comes behind it
  uint64_t reserved_ = 0;  // room that the file system was asked for
};

}  // namespace jitscope
