// The files of a recording: OUTPUT, and the folder OUTPUT.jit beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "formats/perfdata/writer.h"

namespace jitscope {

// Where the names of a recording lie.
[[nodiscard]] std::string names_folder(std::string_view output);

class RecordFile final : public perfdata::FileOutput {
 public:
  // Creates the file for this user alone; an earlier one becomes PATH.old, its folder
  // PATH.old.jit, and what had these names before is removed. Errors: usage when PATH is no regular
  // file, and what the system says.
  static Result<RecordFile> create(const std::string& path);

  // Nothing was recorded: removes the file and its folder; an earlier recording that create() moved
  // out of the way gets its name back.
  void discard();

  Status append(std::span<const std::byte> bytes) override;
  Status overwrite(uint64_t offset, std::span<const std::byte> bytes) override;

 private:
  RecordFile(UniqueFd fd, std::string path, bool moved)
      : fd_(std::move(fd)), path_(std::move(path)), moved_(moved) {}
  UniqueFd fd_;
  std::string path_;
  bool moved_;  // an earlier recording is PATH.old now
};

// A new, empty folder for this user alone.
Status create_names_folder(const std::string& folder);
// When the recording has ended: dumps that never got their name go, and the folder when nothing
// else lies in it.
void tidy_names_folder(const std::string& folder);

}  // namespace jitscope
