#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <utility>

#include "base/unique_fd.h"

namespace jitscope {

Result<MappedFile> MappedFile::open(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail(system_error("cannot open file", path));
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) return fail(system_error("cannot stat file", path));
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorKind::not_possible, "not a regular file", path);
  }
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return MappedFile(nullptr, 0);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) return fail(system_error("cannot map file", path));
  return MappedFile(static_cast<const std::byte*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<std::string> read_text_file(const std::string& path, size_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail(system_error("cannot open file", path));
  std::string text;
  constexpr size_t chunk = 64 * 1024;
  for (;;) {
    const size_t before = text.size();
    text.resize(before + chunk);
    const ssize_t got = ::read(fd.get(), text.data() + before, chunk);
    if (got < 0) {
      if (errno == EINTR) {
        text.resize(before);
        continue;
      }
      return fail(system_error("cannot read file", path));
    }
    text.resize(before + static_cast<size_t>(got));
    if (got == 0) return text;
    if (text.size() > limit) {
      return fail(ErrorKind::damaged, "file is larger than expected", path);
    }
  }
}

}  // namespace jitscope
