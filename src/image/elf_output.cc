#include "image/elf_output.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "base/write_all.h"
#include "image/image_io.h"

namespace jitscope {
namespace {

constexpr size_t kBuffer = 1U << 20U;
constexpr uint64_t kSmallGap = 2048;

}  // namespace

Result<ElfOutput> ElfOutput::open(UniqueFd fd) {
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) {
    return fail(system_error("cannot look at the file for the image"));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorKind::not_possible, "the file for the image is no regular file");
  }
  if (status.st_size != 0) {
    return fail(ErrorKind::not_possible, "the file for the image is not empty", {},
                "use a new file: another program may be reading this one");
  }
  ElfOutput output(std::move(fd));
  output.buffer_.resize(kBuffer);
  return output;
}

Status ElfOutput::put(uint64_t offset, std::span<const std::byte> bytes) {
  return write_image_at(fd_.get(), offset, bytes);
}

bool ElfOutput::into_buffer(uint64_t offset, std::span<const std::byte> bytes) {
  if (filled_ == 0 || offset < start_ || offset - start_ > kBuffer - bytes.size()) return false;
  const auto at = static_cast<size_t>(offset - start_);
  if (at > filled_) {
    // A gap; only where nobody has written, or its bytes would be lost.
    if (at - filled_ > kSmallGap || start_ + filled_ < end_) return false;
    std::memset(buffer_.data() + filled_, 0, at - filled_);
  }
  std::memcpy(buffer_.data() + at, bytes.data(), bytes.size());
  filled_ = std::max(filled_, at + bytes.size());
  return true;
}

Status ElfOutput::write(uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  if (offset > INT64_MAX || bytes.size() > INT64_MAX - offset) {
    return fail(ErrorKind::not_possible, "the code image would be larger than files can be");
  }
  if (bytes.size() > kBuffer || !into_buffer(offset, bytes)) {
    JITSCOPE_TRY(flush());
    if (bytes.size() > kBuffer / 4) {
      JITSCOPE_TRY(put(offset, bytes));
    } else {
      std::memcpy(buffer_.data(), bytes.data(), bytes.size());
      start_ = offset;
      filled_ = bytes.size();
    }
  }
  end_ = std::max(end_, offset + bytes.size());
  return {};
}

Status ElfOutput::flush() {
  const size_t filled = std::exchange(filled_, 0);
  return put(start_, std::span(buffer_).first(filled));
}

Status ElfOutput::read(uint64_t offset, std::span<std::byte> bytes) {
  JITSCOPE_TRY(flush());
  const int code = read_all_at(fd_.get(), offset, bytes);
  if (code == ENODATA) {
    return fail(ErrorKind::damaged, "the code image was cut while it was written", {},
                "keep other programs from the file until it is done");
  }
  if (code != 0) return fail(system_error("cannot read the code image back", {}, code));
  return {};
}

Status ElfOutput::restart() {
  filled_ = 0;
  end_ = 0;
  if (::ftruncate(fd_.get(), 0) != 0) {
    return fail(system_error("cannot empty the file of the code image"));
  }
  return {};
}

}  // namespace jitscope
