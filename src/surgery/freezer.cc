// Finds a process's freezer files; see freezer.h. Formats: cgroups(7), proc_pid_mountinfo(5).
#include "surgery/freezer.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"
#include "process/tasks.h"

namespace jitscope {
namespace {

constexpr uint64_t kMostBytes = 16U << 20U;

std::vector<std::string_view> words(std::string_view text, char separator) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    result.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

bool has_word(std::string_view list, char separator, std::string_view word) {
  const auto all = words(list, separator);
  return std::ranges::find(all, word) != all.end();
}

struct Hierarchy {
  std::string_view root;   // the cgroup that is mounted
  std::string_view point;  // where
};

// The mounts of version 2, or of version 1 with the freezer.
std::vector<Hierarchy> hierarchies(std::string_view mountinfo, bool unified) {
  std::vector<Hierarchy> found;
  ByteCursor cursor(mountinfo);
  while (!cursor.at_end()) {
    const auto fields = words(cursor.line(), ' ');
    const auto dash = std::ranges::find(fields, "-");
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    const bool wanted =
        unified ? dash[1] == "cgroup2" : dash[1] == "cgroup" && has_word(dash[3], ',', "freezer");
    if (wanted) found.push_back({fields[3], fields[4]});
  }
  return found;
}

// The directory of the cgroup `path` in one of the mounts; "" when none shows it.
std::string directory_of(std::string_view path, const std::vector<Hierarchy>& mounts) {
  for (const Hierarchy& mount : mounts) {
    if (path.starts_with("/..")) continue;  // outside of our cgroup namespace
    const std::string_view root = mount.root == "/" ? std::string_view() : mount.root;
    if (!path.starts_with(root)) continue;
    const std::string_view rest = path.substr(root.size());
    if (!rest.empty() && rest.front() != '/') continue;
    return fmt::format("{}{}", mount.point, rest == "/" ? std::string_view() : rest);
  }
  return {};
}

bool file_has_line(const std::string& path, std::string_view line) {
  const auto text = read_text_file(path, kMostBytes);
  return text && has_word(*text, '\n', line);
}

}  // namespace

std::string frozen_by(std::string_view cgroup, std::string_view mountinfo) {
  ByteCursor cursor(cgroup);
  while (!cursor.at_end()) {
    // "0::/path" (version 2), "6:freezer:/path"
    const std::string_view line = cursor.line();
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && !has_word(controllers, ',', "freezer")) continue;
    const std::string directory =
        directory_of(line.substr(second + 1), hierarchies(mountinfo, unified));
    if (directory.empty()) continue;
    const std::string file = directory + (unified ? "/cgroup.events" : "/freezer.state");
    if (unified ? file_has_line(file, "frozen 1")
                : file_has_line(file, "FROZEN") || file_has_line(file, "FREEZING")) {
      return file;
    }
  }
  return {};
}

std::string frozen_by(pid_t pid) {
  const auto cgroup = read_text_file(task_path(pid, "cgroup"), kMostBytes);
  const auto mountinfo = read_text_file("/proc/self/mountinfo", kMostBytes);
  if (!cgroup || !mountinfo) return {};
  return frozen_by(*cgroup, *mountinfo);
}

Error frozen_error(pid_t pid, std::string_view file) {
  return Error{ErrorKind::not_possible,
               fmt::format("process {} is frozen by its cgroup (a paused container?)", pid),
               std::string(file),
               "nothing can be changed in it until it is thawed; breakpoints need no change", 0};
}

}  // namespace jitscope
