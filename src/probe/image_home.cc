#include "probe/image_home.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <array>
#include <cstring>

namespace jitscope {
namespace {

constexpr std::string_view prefix = "jitscope-";

// Why a directory will not do, "" when it may.
std::string objection(const std::string& directory, uint64_t bytes, bool accept_overlay) {
  struct statfs fs = {};
  if (::statfs(directory.c_str(), &fs) != 0) return std::strerror(errno);
  struct statvfs flags = {};
  if (::statvfs(directory.c_str(), &flags) != 0) return std::strerror(errno);
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

// perf probe, tracefs and bpftrace take paths without these characters only.
bool usable_by_tools(std::string_view path) {
  return !path.empty() && path.starts_with('/') && path.find_first_of(" :\\\"'\n\t+@%") == path.npos;
}

}  // namespace

Result<ImageHome> create_image_file(const Process& process, uint64_t bytes) {
  std::vector<std::string> directories = {"/tmp", "/var/tmp", "/dev/shm", "/run"};
  if (const std::string cwd = working_directory(process); usable_by_tools(cwd)) {
    directories.push_back(cwd);
  }
  ImageHome home;
  for (const bool accept_overlay : {false, true}) {
    for (const std::string& directory : directories) {
      // A target that sees the same files as we do gets plain paths, which every tool takes.
      const std::string here =
          process.other_mount_namespace() ? process.path_in_root(directory) : directory;
      if (const std::string why = objection(here, bytes, accept_overlay); !why.empty()) {
        if (!accept_overlay) home.passed_over.push_back(fmt::format("{}: {}", directory, why));
        continue;
      }
      const std::string name =
          fmt::format("/{}{}-{}.so", prefix, process.ns_pid(), random_suffix());
      UniqueFd fd(::open((here + name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         0644));
      if (!fd) {
        if (!accept_overlay) {
          home.passed_over.push_back(fmt::format("{}: {}", directory, std::strerror(errno)));
        }
        continue;
      }
      // The target opens it under its own user, whatever our umask says.
      if (::fchmod(fd.get(), 0755) != 0) {
        ::unlink((here + name).c_str());
        home.passed_over.push_back(fmt::format("{}: {}", directory, std::strerror(errno)));
        continue;
      }
      home.fd = std::move(fd);
      home.path_in_target = directory + name;
      home.path_here = here + name;
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
