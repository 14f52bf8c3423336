#include "base/open_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

namespace jitscope {
namespace {

// Smaller files may be all holes: reading them costs nothing either.
constexpr uint64_t kMostSparse = uint64_t{64} << 20U;
constexpr uint64_t kMostHoles = 16;

std::string size_text(uint64_t bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  auto size = static_cast<double>(bytes);
  for (; size >= 1024 && unit + 1 < std::size(units); ++unit) size /= 1024;
  return fmt::format("{:.{}f} {}", size, unit == 0 ? 0 : 1, units[unit]);
}

}  // namespace

std::string root_of(pid_t pid) {
  return fmt::format("/proc/{}/root", pid);
}

UniqueFd open_in_root(const std::string& root, const std::string& path, int flags) {
  if (root.empty() || root == "/") return UniqueFd(::open(path.c_str(), flags | O_CLOEXEC));
  const UniqueFd directory(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return {};
  return open_resolved(directory.get(), path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

UniqueFd open_resolved(int directory, const std::string& path, int flags, uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<uint64_t>(static_cast<unsigned>(flags | O_CLOEXEC));
  how.resolve = resolve;
  // EAGAIN: something was renamed meanwhile, and the kernel cannot tell whether it leads out.
  for (int tries = 0;; ++tries) {
    const long fd = ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how);
    if (fd >= 0 || errno != EAGAIN || tries == 16) return UniqueFd(static_cast<int>(fd));
  }
}

Result<OpenedFile> open_regular_file(const std::string& path, const std::string& root) {
  const auto failed = [&path] {
    const int code = errno;
    Error error = system_error("cannot open", path, code);
    if (code == ENOTDIR) error.kind = ErrorKind::not_found;
    return fail(std::move(error));
  };
  // O_PATH opens nothing yet: what the name stands for can be looked at first.
  const UniqueFd place = open_in_root(root, path, O_PATH);
  if (!place) return failed();
  OpenedFile file;
  if (::fstat(place.get(), &file.status) != 0) return failed();
  if (!S_ISREG(file.status.st_mode)) return fail(ErrorKind::damaged, "is no regular file", path);
  const std::string self = "/proc/self/fd/" + std::to_string(place.get());
  file.fd.reset(::open(self.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.fd) return failed();
  return file;
}

std::string why_too_large(const struct stat& status, uint64_t most) {
  const auto size = static_cast<uint64_t>(std::max<off_t>(status.st_size, 0));
  const uint64_t on_disk = static_cast<uint64_t>(status.st_blocks) * 512;
  if (size > kMostSparse && on_disk < size / kMostHoles) {
    return fmt::format("is {} large, of which {} are on the disk", size_text(size),
                       size_text(on_disk));
  }
  if (size > most) return fmt::format("is {} large", size_text(size));
  return {};
}

}  // namespace jitscope
