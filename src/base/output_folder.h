// Folders that files are written to. A folder is opened once; what is in it is reached by that
// descriptor and a name from then on, so that a path that somebody changes meanwhile, or a link
// that he lays there, leads nowhere.
//
// The folder that an output itself lies in is the user's choice: any, by any path. A folder that is
// filled with files of ours, which are read again later, must be one that no stranger made or may
// write into.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace jitscope {

// Whether nobody but this user, root and `owner` can put anything into the folder: whatever of his
// lies there is there by the leave of the folder's owner.
[[nodiscard]] bool is_private_folder(int folder, uid_t owner);

// Where an output lies.
struct OutputPlace {
  UniqueFd folder;   // O_PATH
  std::string name;  // in it
  std::string path;  // as the user says it, for messages
};
// Errors: usage when `path` names no file, else what the system says of the folder.
Result<OutputPlace> output_place(std::string path);

// A folder, open for reading: no link; of this user, or of another one in a folder that is private
// to him (root works in somebody's home); nobody else may write into it. `path` is for messages.
// Errors: not_found; usage (a link, no folder); not_permitted.
Result<UniqueFd> open_own_folder(int parent, const std::string& name, const std::string& path);

// The same, made with this mode when it is not there.
struct OwnFolder {
  UniqueFd fd;
  OutputPlace place;
  bool made = false;

  // When it is empty.
  void remove() const;
};
Result<OwnFolder> make_own_folder(OutputPlace place, mode_t mode);
Result<OwnFolder> make_own_folder(std::string path, mode_t mode);

// All names but "." and "..".
[[nodiscard]] std::vector<std::string> names_in(int folder);
// Removes the regular files that `which` names, as far as they are this user's or of the folder's
// owner.
void remove_own_files(int folder, const std::function<bool(std::string_view)>& which);
// The absolute path of an open folder, wherever it lies by now.
Result<std::string> path_of_folder(int folder);
// The same open folder once more.
Result<UniqueFd> duplicate_folder(int folder);

}  // namespace jitscope
