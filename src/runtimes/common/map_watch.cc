#include "runtimes/common/map_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <span>
#include <string_view>

#include "base/byte_cursor.h"
#include "base/open_file.h"

namespace jitscope {
namespace {

// What is opened, whatever its name leads to by now.
std::string by_descriptor(const UniqueFd& fd) {
  return fmt::format("/proc/self/fd/{}", fd.get());
}

}  // namespace

Result<std::unique_ptr<MapWatch>> MapWatch::open(const Process& process, const std::string& shown) {
  std::unique_ptr<MapWatch> watch(new MapWatch);
  const std::string root = fmt::format("/proc/{}/root", process.pid());
  if (shown.starts_with(root + "/")) {
    watch->root_ = root;
    watch->path_ = shown.substr(root.size());
  } else {
    watch->path_ = shown;
  }
  const size_t slash = watch->path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : watch->path_.substr(0, slash);
  watch->name_ = slash == std::string::npos ? watch->path_ : watch->path_.substr(slash + 1);
  const UniqueFd opened = open_in_root(watch->root_, folder, O_PATH | O_DIRECTORY);
  if (!opened) return fail(system_error("cannot open the perf map's folder", shown));
  watch->events_ = UniqueFd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!watch->events_) return fail(system_error("cannot watch the perf map", shown));
  watch->folder_watch_ = ::inotify_add_watch(watch->events_.get(), by_descriptor(opened).c_str(),
                                             IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
  if (watch->folder_watch_ < 0) return fail(system_error("cannot watch the perf map", shown));
  watch->watch_file();
  return watch;
}

void MapWatch::watch_file() {
  if (file_watch_ >= 0) ::inotify_rm_watch(events_.get(), file_watch_);
  file_watch_ = -1;
  // Links are not followed: the source refuses them, and the clock asks for looks as before where
  // the user forced one.
  const UniqueFd opened = open_in_root(root_, path_, O_PATH | O_NOFOLLOW);
  struct stat info = {};
  if (!opened || ::fstat(opened.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  file_watch_ =
      ::inotify_add_watch(events_.get(), by_descriptor(opened).c_str(), IN_MODIFY | IN_ATTRIB);
}

// Takes what events wait, as many as one read gives; whether one is about the map.
bool MapWatch::drain(bool& anew) {
  alignas(inotify_event) std::array<std::byte, 16384> buffer{};
  const ssize_t got = ::read(events_.get(), buffer.data(), buffer.size());
  if (got <= 0) return false;
  bool ours = false;
  ByteCursor cursor(std::span<const std::byte>(buffer).first(static_cast<size_t>(got)));
  while (cursor.ok() && cursor.remaining() >= sizeof(inotify_event)) {
    const auto watch = static_cast<int>(cursor.u32());
    const uint32_t mask = cursor.u32();
    cursor.skip(sizeof(uint32_t));  // cookie
    const std::string_view name = cursor.slice(cursor.u32()).c_string();
    if ((mask & IN_Q_OVERFLOW) != 0) {
      ours = anew = true;
    } else if (watch == file_watch_) {
      ours = true;
    } else if (watch == folder_watch_ && name == name_) {
      ours = anew = true;
    }
  }
  return ours;
}

bool MapWatch::changed() {
  bool anew = false;
  const bool ours = drain(anew);
  if (anew) watch_file();
  return ours;
}

}  // namespace jitscope
