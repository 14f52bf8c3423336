// The files of a recording: OUTPUT, and the folder OUTPUT.jit beside it.
//
// A recording has its name from the beginning: what a killed one has written can be read. All is
// done in the folder as it was opened at the start (base/output_folder.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/output_folder.h"
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
  // file or PATH.jit no folder, not_permitted when somebody else may have put them there, and what
  // the system says.
  static Result<RecordFile> create(const std::string& path);

  // A new, empty folder for this user alone, PATH.jit; open.
  Result<std::shared_ptr<const UniqueFd>> create_names_folder();
  // When the recording has ended: dumps that never got their name go, and the folder when nothing
  // else lies in it.
  void tidy_names_folder();

  // Nothing was recorded: removes the file and its folder; an earlier recording that create() moved
  // out of the way gets its name back.
  void discard();

  Status append(std::span<const std::byte> bytes) override;
  Status overwrite(uint64_t offset, std::span<const std::byte> bytes) override;

 private:
  RecordFile(UniqueFd fd, OutputPlace place, bool moved)
      : fd_(std::move(fd)), place_(std::move(place)), moved_(moved) {}
  UniqueFd fd_;
  OutputPlace place_;
  bool moved_;  // an earlier recording is PATH.old now
};

}  // namespace jitscope
