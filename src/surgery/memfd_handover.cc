#include "surgery/memfd_handover.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "process/tasks.h"

namespace jitscope {
namespace {

std::string self_path(int fd) {
  return fmt::format("/proc/self/fd/{}", fd);
}

std::string link_of(int fd) {
  std::array<char, 512> buffer = {};
  const ssize_t length = ::readlink(self_path(fd).c_str(), buffer.data(), buffer.size());
  return length <= 0 ? std::string() : std::string(buffer.data(), static_cast<size_t>(length));
}

// The device of the file system that only the kernel puts files on: memfds, and shared memory that
// has no name.
Result<dev_t> memfd_device() {
  const UniqueFd own(::memfd_create("jitscope-probe", MFD_CLOEXEC));
  struct stat info = {};
  if (!own || ::fstat(own.get(), &info) != 0) return fail(system_error("cannot make a memfd"));
  return info.st_dev;
}

// "" when it is the memfd that was just made.
std::string objection(int fd, const std::string& name, dev_t device) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) return std::strerror(errno);
  if (!S_ISREG(info.st_mode) || info.st_dev != device || info.st_nlink != 0)
    return "it is no memfd";
  if (link_of(fd) != fmt::format("/memfd:{} (deleted)", name)) return "its name is another";
  if (info.st_size != 0 || info.st_blocks != 0) return "it is not empty";
  return {};
}

Status make_ours(int fd, mode_t mode) {
  // Whoever has it open already has rights over the target; nobody else shall get them.
  if (::fchown(fd, ::geteuid(), static_cast<gid_t>(-1)) != 0 ||
      ::fchmod(fd, mode & 0777U & ~0022U) != 0 || ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    return fail(system_error("cannot take over the target's memfd"));
  }
  return {};
}

}  // namespace

Result<std::string> unique_memfd_name(const std::string& base) {
  std::array<unsigned char, 16> bytes = {};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail(system_error("cannot get random bytes"));
  }
  return fmt::format("{}-{:02x}", base, fmt::join(bytes, ""));
}

Result<UniqueFd> take_over_memfd(const Process& process, int number, const std::string& name) {
  const std::string path = task_path(process.pid(), fmt::format("fd/{}", number));
  JITSCOPE_ASSIGN(const dev_t device, memfd_device());
  const UniqueFd seen(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!seen) return fail(system_error("cannot look at the target's memfd", path));
  if (const std::string why = objection(seen.get(), name, device); !why.empty()) {
    return fail(ErrorKind::not_possible,
                fmt::format("the target put another file in the place of the memfd: {}", why), path,
                "nothing was written to it; this program works against being probed");
  }
  UniqueFd own(::open(self_path(seen.get()).c_str(), O_RDWR | O_CLOEXEC));
  if (!own) return fail(system_error("cannot open the target's memfd", path));
  struct stat info = {};
  if (::fstat(own.get(), &info) != 0) return fail(system_error("cannot look at the memfd", path));
  JITSCOPE_TRY(make_ours(own.get(), info.st_mode));
  return own;
}

}  // namespace jitscope
