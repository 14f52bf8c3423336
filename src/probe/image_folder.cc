#include "probe/image_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/byte_cursor.h"
#include "base/mapped_file.h"
#include "base/open_file.h"
#include "base/same_file.h"
#include "process/tasks.h"

namespace jitscope {
namespace {

constexpr int path_flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
constexpr std::array usual = {"/tmp", "/var/tmp", "/dev/shm", "/run"};

std::string working_directory(const Process& process) {
  std::array<char, 4096> buffer = {};
  const std::string link = task_path(process.pid(), "cwd");
  const ssize_t length = ::readlink(link.c_str(), buffer.data(), buffer.size());
  if (length <= 0 || static_cast<size_t>(length) >= buffer.size()) return {};
  return {buffer.data(), static_cast<size_t>(length)};
}

// perf probe, tracefs and bpftrace take paths without spaces, quotes and `:` only; and whoever
// named the directory must not write our users' command lines.
bool usable_by_tools(std::string_view path) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-,=";
  return path.starts_with('/') && path.find_first_not_of(plain) == path.npos;
}

// The next number of a line, and the line without it.
std::optional<uint64_t> take_number(std::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t end = std::min(line.find(' ', begin), line.size());
  const auto number = parse_decimal(line.substr(begin, end - begin));
  line.remove_prefix(end);
  return number;
}

// Root of the target's user namespace, as it is numbered here.
uid_t root_user_of(const Process& process) {
  const auto text = read_text_file(task_path(process.pid(), "uid_map"), 1U << 16U);
  if (!text) return 0;
  ByteCursor cursor(*text);
  while (!cursor.at_end()) {
    std::string_view line = cursor.line();
    const auto inside = take_number(line);
    const auto here = take_number(line);
    if (inside && here && *inside == 0) return static_cast<uid_t>(*here);
  }
  return 0;
}

// Others may take names away in it, or its owner is none of those who must be trusted anyway.
std::string stranger(const struct stat& info, const std::vector<uid_t>& trusted) {
  if (std::ranges::find(trusted, info.st_uid) == trusted.end()) {
    return fmt::format("belongs to user {}", info.st_uid);
  }
  const bool shared = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (shared && (info.st_mode & S_ISVTX) == 0)
    return "others may rename files in it (no sticky bit)";
  return {};
}

// The directory and all above it, up to the root that the target sees.
std::string distrust(const Process& process, const UniqueFd& directory) {
  const std::vector<uid_t> trusted = {0, ::geteuid(), process.status().uid, root_user_of(process)};
  const UniqueFd root(::open(process.path_in_root("/").c_str(), path_flags));
  struct stat top = {};
  struct stat here = {};
  if (!root || ::fstat(root.get(), &top) != 0 || ::fstat(directory.get(), &here) != 0) {
    return std::strerror(errno);
  }
  std::string why = stranger(here, trusted);
  constexpr int most_levels = 128;
  UniqueFd at;
  for (int level = 0; why.empty() && !same_file(here, top); ++level) {
    const struct stat below = here;
    UniqueFd up(::openat(at ? at.get() : directory.get(), "..", path_flags));
    if (!up || ::fstat(up.get(), &here) != 0) return std::strerror(errno);
    if (same_file(here, below)) break;
    if (level == most_levels) return "too deep";
    if (std::string reason = stranger(here, trusted); !reason.empty()) {
      why = fmt::format("a directory above it: {}", reason);
    }
    at = std::move(up);
  }
  return why;
}

// File systems whose server can show other bytes at any time.
bool served(const struct statfs& fs) {
  constexpr std::array<uint32_t, 8> kinds = {
      0x65735546,  // FUSE
      0x6969,      // NFS
      0x517b,      // SMB
      0xff534d42,  // CIFS
      0xfe534d42,  // SMB2
      0x01021997,  // 9P
      0x5346414f,  // AFS
      0x00c36400,  // Ceph
  };
  return std::ranges::find(kinds, static_cast<uint32_t>(fs.f_type)) != kinds.end();
}

}  // namespace

std::vector<std::string> image_folders(const Process& process) {
  std::vector<std::string> directories(usual.begin(), usual.end());
  if (const std::string cwd = working_directory(process); usable_by_tools(cwd)) {
    directories.push_back(cwd);
  }
  return directories;
}

std::string seen_from_here(const Process& process, const std::string& directory) {
  return process.other_mount_namespace() ? process.path_in_root(directory) : directory;
}

UniqueFd open_folder(const Process& process, const std::string& directory) {
  if (!process.other_mount_namespace()) {
    const bool known = std::ranges::find(usual, directory) != usual.end();
    return open_resolved(AT_FDCWD, directory, path_flags, known ? 0 : RESOLVE_NO_SYMLINKS);
  }
  const UniqueFd root(::open(process.path_in_root("/").c_str(), path_flags));
  if (!root) return {};
  return open_resolved(root.get(), directory, path_flags, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
}

std::string folder_objection(const Process& process, const UniqueFd& directory, uint64_t bytes,
                             bool accept_overlay) {
  if (!directory) return errno == ELOOP ? "a symbolic link" : std::strerror(errno);
  struct statfs fs = {};
  if (::fstatfs(directory.get(), &fs) != 0) return std::strerror(errno);
  struct statvfs flags = {};
  if (::fstatvfs(directory.get(), &flags) != 0) return std::strerror(errno);
  if ((flags.f_flag & ST_NOEXEC) != 0) return "mounted noexec";
  if ((flags.f_flag & ST_RDONLY) != 0) return "read only";
  if (served(fs)) return "a network's or a user's file system";
  if (!accept_overlay && fs.f_type == OVERLAYFS_SUPER_MAGIC) return "overlay";
  if (static_cast<uint64_t>(fs.f_bavail) * static_cast<uint64_t>(fs.f_bsize) < bytes) {
    return "no space left";
  }
  return distrust(process, directory);
}

}  // namespace jitscope
