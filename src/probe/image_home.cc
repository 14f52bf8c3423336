#include "probe/image_home.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>

#include "probe/image_folder.h"
#include "probe/image_lock.h"

namespace jitscope {
namespace {

constexpr std::string_view prefix = "jitscope-";

std::string random_suffix() {
  std::array<unsigned char, 4> bytes = {};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) bytes = {};
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

std::string name_start(const Process& process) {
  // The start time too: targets of several pid namespaces may share a directory.
  return fmt::format("{}{}-{:x}-", prefix, process.ns_pid(), process.start_ticks());
}

// Until it is locked and is ours, nobody else can open it; then everybody may read it: the target
// maps it under its own user, whatever our umask says.
std::string secure(ImageHome& home) {
  struct stat info = {};
  if (::fstat(home.fd.get(), &info) != 0) return std::strerror(errno);
  home.file = identity_of(info);
  if (info.st_uid != ::geteuid()) {
    return fmt::format("its file system gives our files to user {}", info.st_uid);
  }
  if (const Status held = hold_image(home.fd.get()); !held) return to_string(held.error());
  if (::fchmod(home.fd.get(), 0755) != 0) return std::strerror(errno);
  return {};
}

// "" when `home` has its file.
std::string create_in(const Process& process, const std::string& directory, UniqueFd folder,
                      ImageHome& home) {
  home.name = fmt::format("{}{}.so", name_start(process), random_suffix());
  home.fd = UniqueFd(::openat(folder.get(), home.name.c_str(),
                              O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!home.fd) return std::strerror(errno);
  home.folder = std::move(folder);
  if (std::string why = secure(home); !why.empty()) {
    remove_image_file(home);
    home.fd.reset();
    return why;
  }
  home.path_in_target = fmt::format("{}/{}", directory, home.name);
  home.path_here = seen_from_here(process, home.path_in_target);
  return {};
}

// Each file in those directories that has such a name.
void for_each_file(
    const Process& process,
    const std::function<void(int folder, const std::string& name, const std::string& path)>& use) {
  const std::string start = name_start(process);
  for (const std::string& directory : image_folders(process)) {
    const UniqueFd folder = open_folder(process, directory);
    if (!folder) continue;
    UniqueFd listing(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(listing.get()), ::closedir);
    if (!entries) continue;
    (void)listing.release();
    while (const dirent* entry = ::readdir(entries.get())) {
      const std::string name = entry->d_name;
      if (!name.starts_with(start) || !name.ends_with(".so")) continue;
      use(folder.get(), name, seen_from_here(process, fmt::format("{}/{}", directory, name)));
    }
  }
}

}  // namespace

std::vector<std::string> find_image_files(const Process& process) {
  std::vector<std::string> found;
  for_each_file(process,
                [&](int, const std::string&, const std::string& path) { found.push_back(path); });
  return found;
}

RemovedFiles remove_image_files(const Process& process, bool even_in_use) {
  RemovedFiles result;
  for_each_file(process, [&](int folder, const std::string& name, const std::string&) {
    const UniqueFd fd(
        ::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info = {};
    if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
    if (info.st_uid != 0 && info.st_uid != ::geteuid()) return;  // not made by us
    if (!even_in_use && image_is_held(fd.get())) {
      ++result.in_use;
    } else if (::unlinkat(folder, name.c_str(), 0) == 0) {
      ++result.removed;
    }
  });
  return result;
}

Result<ImageHome> create_image_file(const Process& process, uint64_t bytes) {
  const std::vector<std::string> directories = image_folders(process);
  ImageHome home;
  for (const bool accept_overlay : {false, true}) {
    for (const std::string& directory : directories) {
      UniqueFd folder = open_folder(process, directory);
      std::string why = folder_objection(process, folder, bytes, accept_overlay);
      if (why.empty()) why = create_in(process, directory, std::move(folder), home);
      if (why.empty()) return home;
      if (!accept_overlay) home.passed_over.push_back(fmt::format("{}: {}", directory, why));
    }
  }
  return fail(ErrorKind::not_possible, "no directory of the target can hold the live image",
              fmt::format("{}", fmt::join(home.passed_over, "; ")),
              "it needs a writable directory that is not mounted noexec, and where only root, the "
              "target's user and this one may exchange files");
}

void remove_image_file(const ImageHome& home) {
  struct stat info = {};
  if (!home.folder ||
      ::fstatat(home.folder.get(), home.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return;
  }
  if (identity_of(info) == home.file) {
    ::unlinkat(home.folder.get(), home.name.c_str(), 0);
  }
}

std::string path_of_descriptor(int fd) {
  return fmt::format("/proc/self/fd/{}", fd);
}

bool is_image_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  // "memfd:jitscope-..." for images that no directory could hold.
  return name.starts_with(prefix) || name.starts_with("memfd:jitscope-");
}

}  // namespace jitscope
