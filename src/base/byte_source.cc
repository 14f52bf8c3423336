#include "base/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace jitscope {
namespace {

class FdSource : public ByteSource {
 public:
  FdSource(UniqueFd fd, std::string where, bool seekable, uint64_t size)
      : fd_(std::move(fd)), where_(std::move(where)), seekable_(seekable), size_(size) {}

  Result<size_t> read(std::span<std::byte> out) override {
    for (;;) {
      const ssize_t got = ::read(fd_.get(), out.data(), out.size());
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR) return fail(system_error("reading failed", where_));
    }
  }

  Result<size_t> read_at(uint64_t offset, std::span<std::byte> out) override {
    if (!seekable_) return fail(ErrorKind::not_possible, "a pipe has no offsets", where_);
    size_t done = 0;
    // An offset that off_t cannot hold lies beyond the end of every file.
    while (done < out.size() && offset + done <= static_cast<uint64_t>(INT64_MAX)) {
      const ssize_t got = ::pread(fd_.get(), out.data() + done, out.size() - done,
                                  static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail(system_error("reading failed", where_));
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  [[nodiscard]] bool seekable() const override { return seekable_; }
  [[nodiscard]] uint64_t size() const override { return size_; }
  [[nodiscard]] std::string where() const override { return where_; }

 private:
  UniqueFd fd_;
  std::string where_;
  bool seekable_;
  uint64_t size_;
};

class MemorySource : public ByteSource {
 public:
  MemorySource(std::vector<std::byte> bytes, bool seekable, size_t piece)
      : bytes_(std::move(bytes)), seekable_(seekable), piece_(std::max<size_t>(piece, 1)) {}

  Result<size_t> read(std::span<std::byte> out) override {
    const size_t most = seekable_ ? out.size() : std::min(out.size(), piece_);
    const size_t got = copy(next_, out.first(most));
    next_ += got;
    return got;
  }
  Result<size_t> read_at(uint64_t offset, std::span<std::byte> out) override {
    if (!seekable_) return fail(ErrorKind::not_possible, "a pipe has no offsets", where());
    return copy(offset, out);
  }
  [[nodiscard]] bool seekable() const override { return seekable_; }
  [[nodiscard]] uint64_t size() const override { return seekable_ ? bytes_.size() : 0; }
  [[nodiscard]] std::string where() const override { return "memory"; }

 private:
  size_t copy(uint64_t offset, std::span<std::byte> out) const {
    if (offset >= bytes_.size()) return 0;
    const size_t count = std::min<size_t>(out.size(), bytes_.size() - offset);
    if (count != 0) std::memcpy(out.data(), bytes_.data() + offset, count);
    return count;
  }
  std::vector<std::byte> bytes_;
  bool seekable_;
  size_t piece_;
  size_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> byte_source(UniqueFd fd, std::string where) {
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail(system_error("cannot be read", where));
  if (S_ISDIR(status.st_mode)) return fail(ErrorKind::usage, "is a directory", std::move(where));
  const bool regular = S_ISREG(status.st_mode);
  return std::make_unique<FdSource>(std::move(fd), std::move(where), regular,
                                    regular ? static_cast<uint64_t>(status.st_size) : 0);
}

Result<std::unique_ptr<ByteSource>> open_byte_source(const std::string& path) {
  if (path == "-") {
    UniqueFd copy(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!copy.valid()) return fail(system_error("cannot be read", "standard input"));
    return byte_source(std::move(copy), "standard input");
  }
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return fail(system_error("cannot be opened", path));
  return byte_source(std::move(fd), path);
}

std::unique_ptr<ByteSource> memory_source(std::vector<std::byte> bytes, bool seekable,
                                          size_t piece) {
  return std::make_unique<MemorySource>(std::move(bytes), seekable, piece);
}

}  // namespace jitscope
