#include "inject/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <set>
#include <utility>

#include "base/same_file.h"
#include "base/write_all.h"

namespace jitscope {
namespace {

constexpr size_t kPiece = 256U << 10U;
constexpr size_t kLarge = kPiece / 4;  // what is not copied first

Status write_at(int fd, uint64_t offset, std::span<const std::byte> bytes,
                const std::string& path) {
  const int code = write_all_at(fd, offset, bytes);
  if (code != 0) return fail(system_error("cannot write the output", path, code));
  return {};
}

constexpr std::string_view kUnfinished = ".new";

// Images of an earlier run, or of one that was killed.
bool is_image(std::string_view name) {
  return name.starts_with("jit-") && (name.ends_with(".so") || name.ends_with(".so.new"));
}

std::string unfinished(const std::string& image) {
  return image + std::string(kUnfinished);
}

// The output is not the input, and what is there may go.
Status check(const OutputPlace& place, const std::string& input, bool force) {
  struct stat there = {};
  if (::fstatat(place.folder.get(), place.name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0)
    return {};
  struct stat in = {};
  const bool known =
      input == "-" ? ::fstat(STDIN_FILENO, &in) == 0 : ::stat(input.c_str(), &in) == 0;
  if (known && same_file(in, there)) {
    return fail(ErrorKind::usage, "the output must be another file than the input", place.path);
  }
  if (!force && S_ISREG(there.st_mode)) {
    return fail(ErrorKind::usage, "the output is there already", place.path,
                "--overwrite replaces it, or give another name with -o");
  }
  return check_output(place, Replace::own);
}

}  // namespace

InjectOutput::InjectOutput(InjectOutput&& other) noexcept
    : file_(std::move(other.file_)),
      folder_(std::move(other.folder_)),
      folder_path_(std::move(other.folder_path_)),
      kept_(std::exchange(other.kept_, true)),
      images_(std::move(other.images_)),
      buffer_(std::move(other.buffer_)),
      written_(other.written_),
      reserved_(other.reserved_) {}

InjectOutput::~InjectOutput() {
  if (kept_) return;
  for (const std::string& image : images_) {
    ::unlinkat(folder_.fd.get(), unfinished(image).c_str(), 0);
  }
  if (folder_.made) folder_.remove();
}

Result<InjectOutput> InjectOutput::create(const std::string& input, const std::string& output,
                                          const std::string& folder, bool force) {
  JITSCOPE_ASSIGN(OutputPlace place, output_place(output));
  JITSCOPE_TRY(check(place, input, force));
  JITSCOPE_ASSIGN(OutputFile file,
                  OutputFile::create(std::move(place), force ? Replace::own : Replace::never));
  InjectOutput result(std::move(file));
  JITSCOPE_TRY(result.prepare_folder(folder, force));
  result.kept_ = false;
  result.buffer_.reserve(2 * kPiece);
  // The output is a little longer than the input; writing costs half when its room is known. Where
  // that cannot be told, it is only slower.
  struct stat in = {};
  if (input != "-" && ::stat(input.c_str(), &in) == 0 && S_ISREG(in.st_mode)) {
    const off_t room = in.st_size + in.st_size / 32 + (off_t{1} << 20U);
    const bool reserved = ::fallocate(result.file_.fd(), FALLOC_FL_KEEP_SIZE, 0, room) == 0;
    result.reserved_ = reserved ? static_cast<uint64_t>(room) : 0;
  }
  return result;
}

Status InjectOutput::prepare_folder(const std::string& folder, bool force) {
  JITSCOPE_ASSIGN(folder_, make_own_folder(folder, S_IRWXU));
  if (!folder_.made && !force && !names_in(folder_.fd.get()).empty()) {
    return fail(ErrorKind::usage, "the folder of images is there already", folder,
                "--overwrite replaces what an earlier run left in it");
  }
  auto path = path_of_folder(folder_.fd.get());
  if (!path) {
    if (folder_.made) folder_.remove();
    return fail(std::move(path.error()));
  }
  folder_path_ = std::move(*path);
  return {};
}

Status InjectOutput::flush() {
  JITSCOPE_TRY(write_at(file_.fd(), written_, buffer_, file_.path()));
  written_ += buffer_.size();
  buffer_.clear();
  return {};
}

Status InjectOutput::append(std::span<const std::byte> bytes) {
  if (bytes.size() >= kLarge) {
    JITSCOPE_TRY(flush());
    JITSCOPE_TRY(write_at(file_.fd(), written_, bytes, file_.path()));
    written_ += bytes.size();
    return {};
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return buffer_.size() >= kPiece ? flush() : Status();
}

Status InjectOutput::read(uint64_t offset, std::span<std::byte> bytes) {
  JITSCOPE_TRY(flush());
  const int code = read_all_at(file_.fd(), offset, bytes);
  if (code == ENODATA) {
    return fail(ErrorKind::damaged, "was cut while it was written", file_.path());
  }
  if (code != 0) return fail(system_error("cannot read the output back", file_.path(), code));
  return {};
}

Status InjectOutput::overwrite(uint64_t offset, std::span<const std::byte> bytes) {
  if (offset >= written_) {
    const uint64_t at = offset - written_;
    if (at > buffer_.size() || bytes.size() > buffer_.size() - at) {
      return fail(ErrorKind::not_possible, "overwriting beyond the end", file_.path());
    }
    std::memcpy(buffer_.data() + at, bytes.data(), bytes.size());
    return {};
  }
  if (bytes.size() > written_ - offset) JITSCOPE_TRY(flush());
  return write_at(file_.fd(), offset, bytes, file_.path());
}

Result<InjectOutput::ImageFile> InjectOutput::new_image(const std::string& name) {
  ImageFile file;
  file.path = folder_path_ + "/" + name;
  const std::string unnamed = unfinished(name);
  ::unlinkat(folder_.fd.get(), unnamed.c_str(), 0);  // of a run that was killed
  file.fd.reset(::openat(folder_.fd.get(), unnamed.c_str(),
                         O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.fd) return fail(system_error("cannot create an image", file.path));
  images_.push_back(name);
  return file;
}

Status InjectOutput::name_images() {
  const std::set<std::string, std::less<>> fresh(images_.begin(), images_.end());
  remove_own_files(folder_.fd.get(), [&](std::string_view name) {
    const bool unnamed = name.ends_with(kUnfinished) &&
                         fresh.contains(name.substr(0, name.size() - kUnfinished.size()));
    return is_image(name) && !unnamed && !fresh.contains(name);
  });
  for (const std::string& image : images_) {
    if (::renameat(folder_.fd.get(), unfinished(image).c_str(), folder_.fd.get(), image.c_str()) !=
        0) {
      return fail(system_error("cannot give an image its name", folder_path_ + "/" + image));
    }
  }
  return {};
}

Status InjectOutput::keep() {
  JITSCOPE_TRY(flush());
  if (reserved_ > written_ && ::ftruncate(file_.fd(), static_cast<off_t>(written_)) != 0) {
    return fail(system_error("cannot write the output", file_.path()));
  }
  JITSCOPE_TRY(name_images());
  JITSCOPE_TRY(file_.commit(S_IRUSR | S_IWUSR));
  if (folder_.made && images_.empty()) folder_.remove();
  kept_ = true;
  return {};
}

}  // namespace jitscope
