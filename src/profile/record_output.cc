#include "profile/record_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/write_all.h"

namespace jitscope {
namespace {

namespace fs = std::filesystem;

Error file_error(std::string_view what, const std::string& path, const std::error_code& code) {
  return system_error(what, path, code.value());
}

bool is_dump(const fs::path& path, std::string_view ending) {
  const std::string name = path.filename().native();
  return name.starts_with("jit-") && name.ends_with(ending);
}

// The dumps of an earlier recording, and the folder when nothing else lies in it.
void remove_names_folder(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(folder, error))) return;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    std::error_code ignored;
    const bool ours = is_dump(it->path(), ".dump") || is_dump(it->path(), ".dump.new");
    if (ours) fs::remove(it->path(), ignored);
  }
  fs::remove(folder, error);
}

Status move_names_folder(const std::string& from, const std::string& to) {
  std::error_code error;
  remove_names_folder(to);
  if (!fs::exists(fs::symlink_status(from, error))) return {};
  fs::rename(from, to, error);
  if (error) return fail(file_error("cannot move the folder of an earlier recording", from, error));
  return {};
}

}  // namespace

std::string names_folder(std::string_view output) {
  return fmt::format("{}.jit", output);
}

Result<RecordFile> RecordFile::create(const std::string& path) {
  struct stat info = {};
  const std::string old = path + ".old";
  bool moved = false;
  if (::lstat(path.c_str(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) {
      return fail(ErrorKind::usage, "a recording goes to a regular file", path,
                  "give another name with -o");
    }
    std::error_code error;
    fs::rename(path, old, error);
    if (error) return fail(file_error("cannot move an earlier recording", path, error));
    JITSCOPE_TRY(move_names_folder(names_folder(path), names_folder(old)));
    moved = true;
  } else {
    // A folder without its recording.
    remove_names_folder(names_folder(path));
  }
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd) return fail(system_error("cannot create the recording", path));
  return RecordFile(std::move(fd), path, moved);
}

void RecordFile::discard() {
  std::error_code error;
  fs::remove(path_, error);
  remove_names_folder(names_folder(path_));
  if (!moved_) return;
  fs::rename(path_ + ".old", path_, error);
  (void)move_names_folder(names_folder(path_ + ".old"), names_folder(path_));
}

Status RecordFile::append(std::span<const std::byte> bytes) {
  const int code = write_all(fd_.get(), bytes);
  if (code != 0) return fail(system_error("cannot write the recording", path_, code));
  return {};
}

Status RecordFile::overwrite(uint64_t offset, std::span<const std::byte> bytes) {
  const int code = write_all_at(fd_.get(), offset, bytes);
  if (code != 0) return fail(system_error("cannot write the recording", path_, code));
  return {};
}

Status create_names_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), S_IRWXU) != 0) {
    return fail(system_error("cannot make the folder for the names of JIT code", folder));
  }
  return {};
}

void tidy_names_folder(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    std::error_code ignored;
    if (is_dump(it->path(), ".dump.new")) fs::remove(it->path(), ignored);
  }
  (void)::rmdir(folder.c_str());  // refused while something is in it
}

}  // namespace jitscope
