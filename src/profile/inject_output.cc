#include "profile/inject_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <utility>

#include "base/write_all.h"

namespace jitscope {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPiece = 256U << 10U;
constexpr size_t kLarge = kPiece / 4;  // what is not copied first

Status write_at(int fd, uint64_t offset, std::span<const std::byte> bytes,
                const std::string& path) {
  const int code = write_all_at(fd, offset, bytes);
  if (code != 0) return fail(system_error("cannot write the output", path, code));
  return {};
}

// Images of an earlier run.
bool is_image(const fs::path& path) {
  const std::string name = path.filename().native();
  return name.starts_with("jit-") && name.ends_with(".so");
}

}  // namespace

InjectOutput::InjectOutput(InjectOutput&& other) noexcept
    : path_(std::move(other.path_)),
      folder_(std::move(other.folder_)),
      fd_(std::move(other.fd_)),
      made_folder_(other.made_folder_),
      kept_(std::exchange(other.kept_, true)),
      images_(std::move(other.images_)),
      buffer_(std::move(other.buffer_)),
      written_(other.written_),
      reserved_(other.reserved_) {}

InjectOutput::~InjectOutput() {
  if (kept_) return;
  ::unlink(unfinished().c_str());
  for (const std::string& image : images_) ::unlink(image.c_str());
  if (made_folder_) ::rmdir(folder_.c_str());
}

Result<InjectOutput> InjectOutput::create(const std::string& input, const std::string& output,
                                          const std::string& folder, bool force) {
  struct stat there = {};
  if (::lstat(output.c_str(), &there) == 0) {
    if (!S_ISREG(there.st_mode)) {
      return fail(ErrorKind::usage, "the output must be a regular file", output);
    }
    struct stat in = {};
    const bool known =
        input == "-" ? ::fstat(STDIN_FILENO, &in) == 0 : ::stat(input.c_str(), &in) == 0;
    if (known && in.st_dev == there.st_dev && in.st_ino == there.st_ino) {
      return fail(ErrorKind::usage, "the output must be another file than the input", output);
    }
    if (!force) {
      return fail(ErrorKind::usage, "the output is there already", output,
                  "--overwrite replaces it, or give another name with -o");
    }
  }
  InjectOutput result;
  result.path_ = output;
  JITSCOPE_TRY(result.prepare_folder(folder, force));
  ::unlink(result.unfinished().c_str());
  result.fd_.reset(
      ::open(result.unfinished().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!result.fd_) {
    auto error = system_error("cannot create the output", result.unfinished());
    if (result.made_folder_) ::rmdir(result.folder_.c_str());
    return fail(std::move(error));
  }
  result.kept_ = false;
  result.buffer_.reserve(2 * kPiece);
  // The output is a little longer than the input; writing costs half when its room is known. Where
  // that cannot be told, it is only slower.
  struct stat in = {};
  if (input != "-" && ::stat(input.c_str(), &in) == 0 && S_ISREG(in.st_mode)) {
    const off_t room = in.st_size + in.st_size / 32 + (off_t{1} << 20U);
    const bool reserved = ::fallocate(result.fd_.get(), FALLOC_FL_KEEP_SIZE, 0, room) == 0;
    result.reserved_ = reserved ? static_cast<uint64_t>(room) : 0;
  }
  return result;
}

Status InjectOutput::prepare_folder(const std::string& folder, bool force) {
  made_folder_ = ::mkdir(folder.c_str(), 0700) == 0;
  std::error_code error;
  if (!made_folder_) {
    if (errno != EEXIST) return fail(system_error("cannot make the folder of images", folder));
    if (!fs::is_directory(folder, error)) {
      return fail(ErrorKind::usage, "the folder of images is no folder", folder);
    }
    if (!force && !fs::is_empty(folder, error)) {
      return fail(ErrorKind::usage, "the folder of images is there already", folder,
                  "--overwrite replaces what an earlier run left in it");
    }
    std::vector<fs::path> old;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (is_image(entry.path())) old.push_back(entry.path());
    }
    for (const fs::path& path : old) fs::remove(path, error);
  }
  const fs::path absolute = fs::canonical(folder, error);
  if (error) return fail(system_error("cannot use the folder of images", folder, error.value()));
  folder_ = absolute.native();
  return {};
}

Status InjectOutput::flush() {
  JITSCOPE_TRY(write_at(fd_.get(), written_, buffer_, unfinished()));
  written_ += buffer_.size();
  buffer_.clear();
  return {};
}

Status InjectOutput::append(std::span<const std::byte> bytes) {
  if (bytes.size() >= kLarge) {
    JITSCOPE_TRY(flush());
    JITSCOPE_TRY(write_at(fd_.get(), written_, bytes, unfinished()));
    written_ += bytes.size();
    return {};
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return buffer_.size() >= kPiece ? flush() : Status();
}

Status InjectOutput::read(uint64_t offset, std::span<std::byte> bytes) {
  JITSCOPE_TRY(flush());
  const int code = read_all_at(fd_.get(), offset, bytes);
  if (code == ENODATA) {
    return fail(ErrorKind::damaged, "was cut while it was written", unfinished());
  }
  if (code != 0) return fail(system_error("cannot read the output back", unfinished(), code));
  return {};
}

Status InjectOutput::overwrite(uint64_t offset, std::span<const std::byte> bytes) {
  if (offset >= written_) {
    const uint64_t at = offset - written_;
    if (at > buffer_.size() || bytes.size() > buffer_.size() - at) {
      return fail(ErrorKind::not_possible, "overwriting beyond the end", unfinished());
    }
    std::memcpy(buffer_.data() + at, bytes.data(), bytes.size());
    return {};
  }
  if (bytes.size() > written_ - offset) JITSCOPE_TRY(flush());
  return write_at(fd_.get(), offset, bytes, unfinished());
}

Result<InjectOutput::ImageFile> InjectOutput::new_image(const std::string& name) {
  ImageFile file;
  file.path = folder_ + "/" + name;
  file.fd.reset(::open(file.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.fd) return fail(system_error("cannot create an image", file.path));
  images_.push_back(file.path);
  return file;
}

Status InjectOutput::keep() {
  JITSCOPE_TRY(flush());
  if (reserved_ > written_ && ::ftruncate(fd_.get(), static_cast<off_t>(written_)) != 0) {
    return fail(system_error("cannot write the output", unfinished()));
  }
  if (::rename(unfinished().c_str(), path_.c_str()) != 0) {
    return fail(system_error("cannot give the output its name", path_));
  }
  if (made_folder_ && images_.empty()) ::rmdir(folder_.c_str());
  kept_ = true;
  return {};
}

}  // namespace jitscope
