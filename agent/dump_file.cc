#include "agent/dump_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace jitscope::agent {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr size_t kMarkerBytes = 4096;

std::string dump_name() {
  return std::string("jit-").append(std::to_string(::getpid())).append(".dump");
}

// statx, not fstat: that is a new symbol of glibc 2.33, and the agent is to load into older ones.
Result<struct statx> facts_of(const UniqueFd& file, const std::string& where) {
  struct statx facts{};
  if (::statx(file.get(), "", AT_EMPTY_PATH, STATX_TYPE | STATX_MODE | STATX_UID, &facts) != 0) {
    return fail(system_error("cannot look at it", where));
  }
  return facts;
}

Result<UniqueFd> open_folder(const std::string& directory, int more) {
  if (::mkdir(directory.c_str(), kFolderMode) != 0 && errno != EEXIST) {
    return fail(system_error("cannot make the folder", directory));
  }
  UniqueFd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | more));
  if (!folder) return fail(system_error("cannot open the folder", directory));
  return folder;
}

// A dump of this name that is there already: of an earlier process with this pid, whose lock went
// with it; then it is moved out of the way. In a folder that containers share, it may be that of a
// process which lives.
Status move_old(const UniqueFd& folder, const std::string& name, const std::string& where) {
  const UniqueFd old(
      ::openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!old) return fail(system_error("cannot open what is there already", where));
  JITSCOPE_ASSIGN(const struct statx facts, facts_of(old, where));
  if (!S_ISREG(facts.stx_mode) || facts.stx_uid != ::geteuid()) {
    return fail(ErrorKind::not_permitted, "what is there already is no file of this user", where);
  }
  if (::flock(old.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail(ErrorKind::not_possible, "another process writes it", where,
                "give each container a folder of its own: dir=FOLDER");
  }
  if (::renameat(folder.get(), name.c_str(), folder.get(), (name + ".old").c_str()) != 0) {
    return fail(system_error("cannot move away what is there already", where));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<DumpFile>> DumpFile::create(const std::string& directory) {
  const char* const variable = ::secure_getenv("JITDUMPDIR");
  const std::string named = !directory.empty()    ? directory
                            : variable != nullptr ? std::string(variable)
                                                  : std::string();
  if (named.empty())
    return create_private(std::string("/tmp/jitscope-").append(std::to_string(::geteuid())));
  JITSCOPE_ASSIGN(const UniqueFd folder, open_folder(named, 0));
  return create_at(folder, named);
}

Result<std::unique_ptr<DumpFile>> DumpFile::create_private(const std::string& directory) {
  JITSCOPE_ASSIGN(const UniqueFd folder, open_folder(directory, O_NOFOLLOW));
  JITSCOPE_ASSIGN(const struct statx facts, facts_of(folder, directory));
  if (facts.stx_uid != ::geteuid() || (facts.stx_mode & 077U) != 0) {
    return fail(ErrorKind::not_permitted, "the folder is not private to this user", directory,
                "remove it, or name another one: dir=FOLDER");
  }
  return create_at(folder, directory);
}

Result<std::unique_ptr<DumpFile>> DumpFile::create_at(const UniqueFd& folder,
                                                      const std::string& directory) {
  const std::string name = dump_name();
  const std::string path = directory + (directory.ends_with('/') ? "" : "/") + name;
  constexpr int kFlags = O_CREAT | O_EXCL | O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd file(::openat(folder.get(), name.c_str(), kFlags, kFileMode));
  if (!file && errno == EEXIST) {
    JITSCOPE_TRY(move_old(folder, name, path));
    file.reset(::openat(folder.get(), name.c_str(), kFlags, kFileMode));
  }
  if (!file) return fail(system_error("cannot make the dump", path));
  // Where a file system has no locks, two processes of one name are not told apart.
  (void)::flock(file.get(), LOCK_EX | LOCK_NB);
  return std::unique_ptr<DumpFile>(new DumpFile(std::move(file), path));
}

Status DumpFile::map_marker() {
  const void* const marker =
      ::mmap(nullptr, kMarkerBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file_.get(), 0);
  if (marker == MAP_FAILED) {
    return fail(system_error("cannot map the dump executable, so perf will not find it", path_)
                    .advise("the file system may be mounted noexec; name another folder: "
                            "dir=FOLDER"));
  }
  return {};  // it stays for as long as the process does: perf may begin to record at any time
}

Status DumpFile::append(std::string_view records) {
  size_t done = 0;
  while (done < records.size()) {
    const ssize_t wrote = ::write(file_.get(), records.data() + done, records.size() - done);
    if (wrote > 0) {
      done += static_cast<size_t>(wrote);
    } else if (wrote == 0 || errno != EINTR) {
      Error error = system_error("cannot write, the dump ends here", path_);
      (void)!::ftruncate(file_.get(), static_cast<off_t>(size_));
      return fail(std::move(error));
    }
  }
  size_ += records.size();
  return {};
}

std::string read_proc_file(const char* path) {
  std::string text;
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, 16384> buffer{};
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
}

std::string mapped_dump() {
  const std::string maps = read_proc_file("/proc/self/maps");
  const std::string end = std::string("/").append(dump_name());
  std::string_view rest = maps;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const size_t path = line.find('/');
    if (path != std::string_view::npos && line.ends_with(end)) {
      return std::string(line.substr(path));
    }
  }
  return {};
}

}  // namespace jitscope::agent
