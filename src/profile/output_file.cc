#include "profile/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "base/clock.h"

namespace jitscope {
namespace {

constexpr int kAttempts = 16;

Error taken(const std::string& path) {
  return Error{ErrorKind::usage, "the output is there already", path,
               "name another (-o FILE), or replace it with --force", 0};
}

Status check_name(const std::string& path, bool replace) {
  struct stat there = {};
  if (::lstat(path.c_str(), &there) != 0) return {};
  if (!S_ISREG(there.st_mode)) {
    return fail(ErrorKind::usage, "the output is there and no regular file", path,
                "name another file: -o FILE");
  }
  return replace ? Status() : fail(taken(path));
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().native();
  return folder.empty() ? "." : folder;
}

}  // namespace

Result<OutputFile> OutputFile::create(std::string path, bool replace) {
  JITSCOPE_TRY(check_name(path, replace));
  OutputFile file;
  file.path_ = std::move(path);
  file.replace_ = replace;
  file.fd_.reset(::open(folder_of(file.path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.fd_) return file;
  // Not every file system has files without names.
  std::string beside = file.path_ + ".XXXXXX";
  file.fd_.reset(::mkostemp(beside.data(), O_CLOEXEC));
  if (!file.fd_) return fail(system_error("cannot create the output", file.path_));
  file.beside_ = std::move(beside);
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::exchange(other.beside_, {})),
      fd_(std::move(other.fd_)),
      replace_(other.replace_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = std::move(other.path_);
  beside_ = std::exchange(other.beside_, {});
  fd_ = std::move(other.fd_);
  replace_ = other.replace_;
  return *this;
}

OutputFile::~OutputFile() {
  discard();
}

void OutputFile::discard() {
  if (!beside_.empty()) ::unlink(beside_.c_str());
  beside_.clear();
  fd_.reset();
}

Result<UniqueFd> OutputFile::duplicate() const {
  UniqueFd copy(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 3));
  if (!copy) return fail(system_error("cannot open the output twice", path_));
  return copy;
}

Status OutputFile::link_to(const std::string& name) const {
  const std::string open_file = fmt::format("/proc/self/fd/{}", fd_.get());
  const int done = beside_.empty() ? ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(),
                                              AT_SYMLINK_FOLLOW)
                                   : ::link(beside_.c_str(), name.c_str());
  if (done == 0) return {};
  return fail(errno == EEXIST ? taken(name) : system_error("cannot name the output", name));
}

Status OutputFile::commit(mode_t mode) {
  if (::fchmod(fd_.get(), mode) != 0) {
    return fail(system_error("cannot set the mode of the output", path_));
  }
  JITSCOPE_TRY(check_name(path_, replace_));
  if (!replace_ && beside_.empty()) {
    JITSCOPE_TRY(link_to(path_));
    fd_.reset();
    return {};
  }
  for (int i = 0; beside_.empty() && i < kAttempts; ++i) {
    std::string name = fmt::format("{}.{:08x}", path_, static_cast<uint32_t>(monotonic_ns()));
    const Status linked = link_to(name);
    if (linked) {
      beside_ = std::move(name);
    } else if (linked.error().kind != ErrorKind::usage) {
      return fail(linked.error());
    }
  }
  if (::rename(beside_.c_str(), path_.c_str()) != 0) {
    return fail(system_error("cannot name the output", path_));
  }
  beside_.clear();
  fd_.reset();
  return {};
}

}  // namespace jitscope
