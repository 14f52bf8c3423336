#include "base/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "base/file_kind.h"
#include "base/write_all.h"

namespace jitscope {
namespace {

constexpr int kAttempts = 16;

Error taken(const std::string& path) {
  return Error{ErrorKind::usage, "the output is there already", path,
               "name another (-o FILE), or replace it with --force", 0};
}

std::string name_beside(const std::string& name) {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) number = monotonic_ns();
  return fmt::format("{}.{:016x}", name, number);
}

// Without replacing anything.
bool rename_to_free(int folder, const std::string& from, const std::string& to) {
  if (::renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // Not every file system can.
  if (::linkat(folder, from.c_str(), folder, to.c_str(), 0) != 0) return false;
  ::unlinkat(folder, from.c_str(), 0);
  return true;
}

}  // namespace

Status check_output(const OutputPlace& place, Replace replace) {
  struct stat there = {};
  if (::fstatat(place.folder.get(), place.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0)
    return {};
  if (!S_ISREG(there.st_mode)) {
    return fail(
        ErrorKind::usage,
        fmt::format("the output is there and no regular file but {}", file_kind(there.st_mode)),
        place.path, "name another file: -o FILE");
  }
  if (replace == Replace::never) return fail(taken(place.path));
  if (replace == Replace::own && there.st_uid != ::geteuid() &&
      !is_private_folder(place.folder.get(), there.st_uid)) {
    return fail(ErrorKind::not_permitted, "the output is there and belongs to another user",
                place.path, "name another file (-o FILE), or remove this one");
  }
  return {};
}

Result<OutputFile> OutputFile::create(std::string path, Replace replace) {
  JITSCOPE_ASSIGN(OutputPlace place, output_place(std::move(path)));
  return create(std::move(place), replace);
}

Result<OutputFile> OutputFile::create(OutputPlace place, Replace replace) {
  JITSCOPE_TRY(check_output(place, replace));
  OutputFile file;
  file.place_ = std::move(place);
  file.replace_ = replace;
  file.fd_.reset(::openat(file.place_.folder.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  // Not every file system has files without names.
  if (!file.fd_) JITSCOPE_TRY(file.create_beside());
  return file;
}

Status OutputFile::create_beside() {
  for (int i = 0; i < kAttempts; ++i) {
    std::string name = name_beside(place_.name);
    fd_.reset(::openat(place_.folder.get(), name.c_str(),
                       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd_) {
      beside_ = std::move(name);
      return {};
    }
    if (errno != EEXIST) break;
  }
  return fail(system_error("cannot create the output", place_.path));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : place_(std::move(other.place_)),
      beside_(std::exchange(other.beside_, {})),
      fd_(std::move(other.fd_)),
      replace_(other.replace_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  place_ = std::move(other.place_);
  beside_ = std::exchange(other.beside_, {});
  fd_ = std::move(other.fd_);
  replace_ = other.replace_;
  return *this;
}

OutputFile::~OutputFile() {
  discard();
}

void OutputFile::discard() {
  if (!beside_.empty()) ::unlinkat(place_.folder.get(), beside_.c_str(), 0);
  beside_.clear();
  fd_.reset();
}

Result<UniqueFd> OutputFile::duplicate() const {
  UniqueFd copy(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 3));
  if (!copy) return fail(system_error("cannot open the output twice", place_.path));
  return copy;
}

Status OutputFile::write(std::string_view text) {
  const int code = write_all(fd_.get(), text);
  if (code != 0) return fail(system_error("cannot write the output", place_.path, code));
  return {};
}

// A name beside its own, so that it can take its own in one step.
Status OutputFile::link_beside() {
  const std::string open_file = fmt::format("/proc/self/fd/{}", fd_.get());
  for (int i = 0; i < kAttempts; ++i) {
    std::string name = name_beside(place_.name);
    if (::linkat(AT_FDCWD, open_file.c_str(), place_.folder.get(), name.c_str(),
                 AT_SYMLINK_FOLLOW) == 0) {
      beside_ = std::move(name);
      return {};
    }
    if (errno != EEXIST) break;
  }
  return fail(system_error("cannot name the output", place_.path));
}

Status OutputFile::commit(mode_t mode) {
  if (::fchmod(fd_.get(), mode) != 0) {
    return fail(system_error("cannot set the mode of the output", place_.path));
  }
  JITSCOPE_TRY(check_output(place_, replace_));
  if (beside_.empty()) JITSCOPE_TRY(link_beside());
  const int folder = place_.folder.get();
  const bool named = replace_ == Replace::never
                         ? rename_to_free(folder, beside_, place_.name)
                         : ::renameat(folder, beside_.c_str(), folder, place_.name.c_str()) == 0;
  if (!named) {
    return fail(errno == EEXIST ? taken(place_.path)
                                : system_error("cannot name the output", place_.path));
  }
  beside_.clear();
  fd_.reset();
  return {};
}

mode_t usual_file_mode() {
  constexpr mode_t all = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return all & ~mask;
}

}  // namespace jitscope
