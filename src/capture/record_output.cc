#include "capture/record_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/output_file.h"
#include "base/write_all.h"

namespace jitscope {
namespace {

bool is_dump(std::string_view name, std::string_view ending) {
  return name.starts_with("jit-") && name.ends_with(ending);
}

bool is_any_dump(std::string_view name) {
  return is_dump(name, ".dump") || is_dump(name, ".dump.new");
}

std::string old_name(const std::string& name) {
  return name + ".old";
}

bool is_there(int folder, const std::string& name) {
  struct stat status = {};
  return ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

// The dumps of an earlier recording, and the folder when nothing else lies in it. What is not ours
// stays.
void remove_names_folder(int folder, const std::string& name) {
  const auto names = open_own_folder(folder, name, name);
  if (!names) return;
  remove_own_files(names->get(), is_any_dump);
  (void)::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
}

// `name` and its folder become `to` and its folder.
Status move_recording(const OutputPlace& place, const std::string& name, const std::string& to) {
  const int folder = place.folder.get();
  if (::renameat(folder, name.c_str(), folder, to.c_str()) != 0) {
    return fail(system_error("cannot move an earlier recording", place.path));
  }
  remove_names_folder(folder, names_folder(to));
  const std::string names = names_folder(name);
  if (!is_there(folder, names)) return {};
  if (::renameat(folder, names.c_str(), folder, names_folder(to).c_str()) != 0) {
    return fail(
        system_error("cannot move the folder of an earlier recording", names_folder(place.path)));
  }
  return {};
}

// Before anything is moved: whether what has one of our names is ours. `more`: behind PATH.
Status check_names_folder(const OutputPlace& place, std::string_view more) {
  const std::string name = fmt::format("{}{}", place.name, more);
  if (!is_there(place.folder.get(), name)) return {};
  auto folder = open_own_folder(place.folder.get(), name, fmt::format("{}{}", place.path, more));
  if (folder) return {};
  Error error = std::move(folder.error());
  error.hint = "it is where names of JIT code go: give another name with -o";
  return fail(std::move(error));
}

}  // namespace

std::string names_folder(std::string_view output) {
  return fmt::format("{}.jit", output);
}

Result<RecordFile> RecordFile::create(const std::string& path) {
  if (path == "-") {
    return fail(ErrorKind::usage, "a recording is not written to standard output", {}, "-o FILE");
  }
  JITSCOPE_ASSIGN(OutputPlace place, output_place(path));
  JITSCOPE_TRY(check_output(place, Replace::own));
  JITSCOPE_TRY(check_names_folder(place, names_folder("")));
  const int folder = place.folder.get();
  const bool moved = is_there(folder, place.name);
  if (moved) {
    JITSCOPE_TRY(check_names_folder(place, names_folder(old_name(""))));
    JITSCOPE_TRY(move_recording(place, place.name, old_name(place.name)));
  } else {
    // A folder without its recording.
    remove_names_folder(folder, names_folder(place.name));
  }
  UniqueFd fd(::openat(folder, place.name.c_str(),
                       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd) return fail(system_error("cannot create the recording", path));
  return RecordFile(std::move(fd), std::move(place), moved);
}

void RecordFile::discard() {
  const int folder = place_.folder.get();
  (void)::unlinkat(folder, place_.name.c_str(), 0);
  remove_names_folder(folder, names_folder(place_.name));
  if (moved_) (void)move_recording(place_, old_name(place_.name), place_.name);
}

Status RecordFile::append(std::span<const std::byte> bytes) {
  const int code = write_all(fd_.get(), bytes);
  if (code != 0) return fail(system_error("cannot write the recording", place_.path, code));
  return {};
}

Status RecordFile::overwrite(uint64_t offset, std::span<const std::byte> bytes) {
  const int code = write_all_at(fd_.get(), offset, bytes);
  if (code != 0) return fail(system_error("cannot write the recording", place_.path, code));
  return {};
}

Result<std::shared_ptr<const UniqueFd>> RecordFile::create_names_folder() {
  const std::string path = names_folder(place_.path);
  JITSCOPE_ASSIGN(UniqueFd parent, duplicate_folder(place_.folder.get()));
  JITSCOPE_ASSIGN(
      OwnFolder folder,
      make_own_folder(OutputPlace{std::move(parent), names_folder(place_.name), path}, S_IRWXU));
  return std::make_shared<const UniqueFd>(std::move(folder.fd));
}

void RecordFile::tidy_names_folder() {
  const std::string name = names_folder(place_.name);
  const auto names = open_own_folder(place_.folder.get(), name, names_folder(place_.path));
  if (!names) return;
  remove_own_files(names->get(), [](std::string_view each) { return is_dump(each, ".dump.new"); });
  // Refused while something is in it.
  (void)::unlinkat(place_.folder.get(), name.c_str(), AT_REMOVEDIR);
}

}  // namespace jitscope
