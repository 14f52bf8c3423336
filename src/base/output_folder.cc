#include "base/output_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>

#include <array>
#include <memory>
#include <utility>

#include "base/file_kind.h"
#include "base/path.h"

namespace jitscope {
namespace {

constexpr int kOpen = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Error not_own(std::string_view why, const std::string& path, std::string_view hint) {
  return Error{ErrorKind::not_permitted, std::string(why), path, std::string(hint), 0};
}

bool others_write(const struct stat& status) {
  return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

Status check_owner(int folder, int parent, const std::string& path) {
  struct stat status = {};
  if (::fstat(folder, &status) != 0) return fail(system_error("cannot use a folder", path));
  if (status.st_uid != ::geteuid() && !is_private_folder(parent, status.st_uid)) {
    return fail(not_own("the folder belongs to another user", path, "name another one"));
  }
  if (others_write(status)) {
    return fail(not_own("others may write into the folder", path,
                        "name another one, or `chmod go-w` it when you know what is in it"));
  }
  return {};
}

Error why_not_opened(int parent, const std::string& name, const std::string& path) {
  Error error = system_error("cannot use a folder", path);
  struct stat status = {};
  if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return error;
  if (S_ISDIR(status.st_mode)) return error;
  return Error{ErrorKind::usage,
               fmt::format("a folder is wanted, and this is {}", file_kind(status.st_mode)), path,
               "name another one", 0};
}

bool names_no_entry(const std::string& name) {
  return name.empty() || name == "." || name == "..";
}

}  // namespace

bool is_private_folder(int folder, uid_t owner) {
  struct stat status = {};
  if (::fstat(folder, &status) != 0) return false;
  const uid_t user = status.st_uid;
  return (user == ::geteuid() || user == owner || user == 0) && !others_write(status);
}

Result<OutputPlace> output_place(std::string path) {
  const size_t slash = path.rfind('/');
  OutputPlace place;
  place.name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (names_no_entry(place.name)) {
    return fail(ErrorKind::usage, "the output's name is no name of a file", path,
                "name a file: -o FILE");
  }
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  place.folder.reset(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place.folder) return fail(system_error("cannot use the output's folder", path));
  place.path = std::move(path);
  return place;
}

Result<UniqueFd> open_own_folder(int parent, const std::string& name, const std::string& path) {
  UniqueFd folder(::openat(parent, name.c_str(), kOpen));
  if (!folder) return fail(why_not_opened(parent, name, path));
  JITSCOPE_TRY(check_owner(folder.get(), parent, path));
  return folder;
}

void OwnFolder::remove() const {
  if (place.folder) (void)::unlinkat(place.folder.get(), place.name.c_str(), AT_REMOVEDIR);
}

Result<OwnFolder> make_own_folder(OutputPlace place, mode_t mode) {
  OwnFolder folder;
  folder.made = ::mkdirat(place.folder.get(), place.name.c_str(), mode) == 0;
  if (!folder.made && errno != EEXIST) {
    return fail(system_error("cannot make a folder", place.path));
  }
  JITSCOPE_ASSIGN(folder.fd, open_own_folder(place.folder.get(), place.name, place.path));
  folder.place = std::move(place);
  return folder;
}

Result<OwnFolder> make_own_folder(std::string path, mode_t mode) {
  // Behind a slash a link would be followed.
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (!names_no_entry(std::string(base_name(path)))) {
    JITSCOPE_ASSIGN(OutputPlace place, output_place(std::move(path)));
    return make_own_folder(std::move(place), mode);
  }
  OwnFolder folder;
  folder.fd.reset(::open(path.c_str(), kOpen));
  if (!folder.fd) return fail(system_error("cannot use a folder", path));
  const UniqueFd parent(::openat(folder.fd.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  JITSCOPE_TRY(check_owner(folder.fd.get(), parent.get(), path));
  return folder;
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  UniqueFd listing(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(listing.get()), ::closedir);
  if (!entries) return names;
  (void)listing.release();
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

void remove_own_files(int folder, const std::function<bool(std::string_view)>& which) {
  struct stat whole = {};
  if (::fstat(folder, &whole) != 0) return;
  for (const std::string& name : names_in(folder)) {
    struct stat status = {};
    if (!which(name) || ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    const bool ours = status.st_uid == ::geteuid() || status.st_uid == whole.st_uid;
    if (ours && S_ISREG(status.st_mode)) (void)::unlinkat(folder, name.c_str(), 0);
  }
}

Result<std::string> path_of_folder(int folder) {
  std::array<char, PATH_MAX> text{};
  const std::string link = fmt::format("/proc/self/fd/{}", folder);
  const ssize_t length = ::readlink(link.c_str(), text.data(), text.size());
  if (length <= 0) return fail(system_error("cannot tell a folder's path"));
  return std::string(text.data(), static_cast<size_t>(length));
}

Result<UniqueFd> duplicate_folder(int folder) {
  UniqueFd copy(::fcntl(folder, F_DUPFD_CLOEXEC, 3));
  if (!copy) return fail(system_error("cannot open a folder twice"));
  return copy;
}

}  // namespace jitscope
