#include "probe/image_home.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>

namespace jitscope {
namespace {

constexpr std::string_view prefix = "jitscope-";

// A directory as the target sees it, to work with by descriptor. In another root a symbolic link on
// the way is refused: looked up from here it would lead out of that root, to a directory of ours.
UniqueFd open_directory(const Process& process, const std::string& directory) {
  constexpr int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  if (!process.other_mount_namespace()) return UniqueFd(::open(directory.c_str(), flags));
  const UniqueFd root(::open(process.path_in_root("/").c_str(), flags));
  if (!root) return {};
  open_how how = {};
  how.flags = flags;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, root.get(), directory.c_str(), &how, sizeof(how))));
}

// Why a directory will not do, "" when it may.
std::string objection(const UniqueFd& directory, uint64_t bytes, bool accept_overlay) {
  if (!directory) return errno == ELOOP ? "a symbolic link" : std::strerror(errno);
  struct statfs fs = {};
  if (::fstatfs(directory.get(), &fs) != 0) return std::strerror(errno);
  struct statvfs flags = {};
  if (::fstatvfs(directory.get(), &flags) != 0) return std::strerror(errno);
  if ((flags.f_flag & ST_NOEXEC) != 0) return "mounted noexec";
  if ((flags.f_flag & ST_RDONLY) != 0) return "read only";
  if (!accept_overlay && fs.f_type == OVERLAYFS_SUPER_MAGIC) return "overlay";
  if (static_cast<uint64_t>(fs.f_bavail) * static_cast<uint64_t>(fs.f_bsize) < bytes) {
    return "no space left";
  }
  return {};
}

std::string random_suffix() {
  std::array<unsigned char, 4> bytes = {};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) bytes = {};
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

std::string working_directory(const Process& process) {
  std::array<char, 4096> buffer = {};
  const std::string link = fmt::format("/proc/{}/cwd", process.pid());
  const ssize_t length = ::readlink(link.c_str(), buffer.data(), buffer.size());
  if (length <= 0 || static_cast<size_t>(length) >= buffer.size()) return {};
  return {buffer.data(), static_cast<size_t>(length)};
}

// perf probe, tracefs and bpftrace take paths without spaces, quotes and `:` only; and whoever named
// the directory must not write our users' command lines.
bool usable_by_tools(std::string_view path) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-,=";
  return path.starts_with('/') && path.find_first_not_of(plain) == path.npos;
}

std::vector<std::string> directories_of(const Process& process) {
  std::vector<std::string> directories = {"/tmp", "/var/tmp", "/dev/shm", "/run"};
  if (const std::string cwd = working_directory(process); usable_by_tools(cwd)) {
    directories.push_back(cwd);
  }
  return directories;
}

// A target that sees the same files as we do gets plain paths, which every tool takes.
std::string seen_from_here(const Process& process, const std::string& directory) {
  return process.other_mount_namespace() ? process.path_in_root(directory) : directory;
}

std::string name_start(const Process& process) {
  // The start time too: targets of several pid namespaces may share a directory.
  return fmt::format("{}{}-{:x}-", prefix, process.ns_pid(), process.start_ticks());
}

}  // namespace

std::vector<std::string> find_image_files(const Process& process) {
  std::vector<std::string> found;
  const std::string start = name_start(process);
  for (const std::string& directory : directories_of(process)) {
    const std::string here = seen_from_here(process, directory);
    const UniqueFd open = open_directory(process, directory);
    if (!open) continue;
    UniqueFd listing(::openat(open.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(listing.get()), ::closedir);
    if (!entries) continue;
    (void)listing.release();
    while (const dirent* entry = ::readdir(entries.get())) {
      const std::string_view name = entry->d_name;
      if (name.starts_with(start) && name.ends_with(".so")) {
        found.push_back(fmt::format("{}/{}", here, name));
      }
    }
  }
  return found;
}

Result<ImageHome> create_image_file(const Process& process, uint64_t bytes) {
  const std::vector<std::string> directories = directories_of(process);
  ImageHome home;
  for (const bool accept_overlay : {false, true}) {
    for (const std::string& directory : directories) {
      const std::string here = seen_from_here(process, directory);
      const UniqueFd open = open_directory(process, directory);
      if (const std::string why = objection(open, bytes, accept_overlay); !why.empty()) {
        if (!accept_overlay) home.passed_over.push_back(fmt::format("{}: {}", directory, why));
        continue;
      }
      const std::string name = fmt::format("{}{}.so", name_start(process), random_suffix());
      UniqueFd fd(::openat(open.get(), name.c_str(),
                           O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
      if (!fd) {
        if (!accept_overlay) {
          home.passed_over.push_back(fmt::format("{}: {}", directory, std::strerror(errno)));
        }
        continue;
      }
      // The target opens it under its own user, whatever our umask says.
      if (::fchmod(fd.get(), 0755) != 0) {
        ::unlinkat(open.get(), name.c_str(), 0);
        home.passed_over.push_back(fmt::format("{}: {}", directory, std::strerror(errno)));
        continue;
      }
      home.fd = std::move(fd);
      home.path_in_target = fmt::format("{}/{}", directory, name);
      home.path_here = fmt::format("{}/{}", here, name);
      return home;
    }
  }
  return fail(ErrorKind::not_possible, "no directory of the target can hold the live image",
              fmt::format("{}", fmt::join(home.passed_over, "; ")),
              "it needs a writable directory that is not mounted noexec");
}

bool is_image_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  // "memfd:jitscope-..." for images that no directory could hold.
  return name.starts_with(prefix) || name.starts_with("memfd:jitscope-");
}

}  // namespace jitscope
