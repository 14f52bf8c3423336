// MapWatch: says when a perf map was written, made anew, or put in place of the old one (inotify).
//
// The map may lie in another mount namespace, and belongs to a program that is not trusted: its
// folder is opened inside the process's root (base/open_file.h), and what is watched is what was
// opened there, by its descriptor and never by its name. Nothing is read, so a forged map costs a
// look.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "process/process.h"

namespace jitscope {

class MapWatch {
 public:
  // `shown`: the map as CodeSource::map_file() gives it; the file itself need not be there.
  static Result<std::unique_ptr<MapWatch>> open(const Process& process, const std::string& shown);

  // Something happened to the map since the last call (or may have). Does not wait.
  bool changed();
  // The file is there and watched: what changed() does not tell has not happened.
  [[nodiscard]] bool complete() const { return file_watch_ >= 0; }
  // Readable when changed() has something to look at.
  [[nodiscard]] int wake_fd() const { return events_.get(); }

 private:
  MapWatch() = default;
  void watch_file();
  bool drain(bool& anew);

  UniqueFd events_;
  std::string root_;  // of the process, "" for this process's own
  std::string path_;
  std::string name_;  // in its folder
  int folder_watch_ = -1;
  int file_watch_ = -1;
};

}  // namespace jitscope
