// See source_search.h. Relies on openat2 for paths inside another root (base/open_file.h).
#include "naming/source_search.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/byte_cursor.h"
#include "base/file_kind.h"
#include "base/open_file.h"
#include "formats/jitdump/jitdump.h"
#include "formats/perfmap/perf_map_line.h"
#include "process/process.h"
#include "runtimes/common/perf_map_file.h"

namespace jitscope {
namespace {

bool is_jitdump(const UniqueFd& fd) {
  std::array<std::byte, 8> head{};
  const ssize_t got = ::pread(fd.get(), head.data(), head.size(), 0);
  return got == static_cast<ssize_t>(head.size()) && jitdump::looks_like_jitdump(head);
}

// How often the file's inode has been used; nothing where its file system does not tell.
std::optional<uint64_t> generation_of(const UniqueFd& fd) {
  long value = 0;  // file systems write 4 bytes or 8
  if (::ioctl(fd.get(), FS_IOC_GETVERSION, &value) != 0) return std::nullopt;
  return static_cast<uint32_t>(value);
}

// When the file was made, CLOCK_REALTIME; no call changes that later.
std::optional<int64_t> birth_of(const UniqueFd& fd) {
  struct statx status{};
  if (::statx(fd.get(), "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0 ||
      (status.stx_mask & STATX_BTIME) == 0) {
    return std::nullopt;
  }
  return static_cast<int64_t>(status.stx_btime.tv_sec) * 1'000'000'000 + status.stx_btime.tv_nsec;
}

// What a file that is no jitdump is instead.
Error no_jitdump(const FoundFile& found) {
  struct stat status{};
  const bool empty = ::fstat(found.fd.get(), &status) == 0 && status.st_size == 0;
  if (!empty) return {ErrorKind::damaged, "is no jitdump", found.shown, "", 0};
  return {ErrorKind::damaged, "is empty", found.shown,
          "the program had written nothing to it yet, or the disk was full", 0};
}

PassedOver passed(const Error& error) {
  return {to_string(error), is_refusal(error)};
}

// Keeps the worse of two findings about one source: that of a file that is there, if it can be had.
void keep(Error& best, Error error, std::vector<PassedOver>& passed_over) {
  if (error.kind != ErrorKind::not_permitted && error.kind != ErrorKind::damaged) return;
  if (best.kind == error.kind && best.where == error.where) return;
  if (best.kind != ErrorKind::not_found) passed_over.push_back(passed(best));
  best = std::move(error);
}

std::vector<std::string> names_in(const std::string& root, const std::string& folder) {
  std::vector<std::string> names;
  UniqueFd fd = open_in_root(root, folder, O_RDONLY | O_DIRECTORY | O_NOCTTY);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd.get()), ::closedir);
  if (directory == nullptr) return names;
  (void)fd.release();  // the directory's now
  while (const dirent* entry = ::readdir(directory.get())) names.emplace_back(entry->d_name);
  std::ranges::sort(names);
  return names;
}

bool is_directory(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// The initial pid namespace's number (linux: include/linux/proc_ns.h, PROC_PID_INIT_INO).
constexpr uint64_t kInitialPidNamespace = 0xEFFFFFFC;

bool in_pid_namespace(const ProcessLife& life) {
  return life.pid_namespace != 0 && life.pid_namespace != kInitialPidNamespace;
}

// Whether code of the map lies in memory that the process may execute now. A part of the map is
// enough: address spaces are laid out at random.
bool lies_in(const FoundFile& map, const ProcessLife& life) {
  std::string text(64U << 10U, '\0');
  const ssize_t got = ::pread(map.fd.get(), text.data(), text.size(), 0);
  if (got <= 0) return false;
  ByteCursor lines(std::string_view(text).substr(0, static_cast<size_t>(got)));
  while (!lines.at_end()) {
    PerfMapFields line;
    if (parse_perf_map_line(lines.line(), line) != PerfMapFault::none || line.size == 0) continue;
    const MappedRange* range = life.space.at(line.address);
    if (range != nullptr && range->executable && range->memory) return true;
  }
  return false;
}

}  // namespace

SourceSearch::SourceSearch(const RecordingFacts& facts, const NamingOptions& options)
    : facts_(facts), options_(options) {}

bool SourceSearch::lives(const ProcessLife& life) const {
  if (!facts_.of_this_machine() || !options_.root.empty()) return false;
  const auto process = Process::open(static_cast<pid_t>(life.pid));
  if (!process) return false;
  // A process that began after the recorded one had ended is another one with its pid.
  const uint64_t last = std::min(life.end, facts_.header().last_sample_time.value_or(life.end));
  if (last == UINT64_MAX) return true;
  const auto end = facts_.wall_time(last);
  return !end || start_time_ns(*process) <= *end + facts_.wall_slack();
}

uint32_t SourceSearch::namespace_pid(const ProcessLife& life) const {
  if (!lives(life)) return 0;
  const auto status = read_status(static_cast<pid_t>(life.pid));
  return status ? static_cast<uint32_t>(status->ns_pid) : 0;
}

std::vector<uid_t> SourceSearch::owners(const ProcessLife* live) const {
  std::vector<uid_t> result = {0, ::geteuid()};
  if (facts_.owner()) result.push_back(*facts_.owner());
  const char* sudo = std::getenv("SUDO_UID");
  if (sudo != nullptr) {
    if (const auto uid = parse_decimal(sudo)) result.push_back(static_cast<uid_t>(*uid));
  }
  if (live != nullptr) {
    const auto status = read_status(static_cast<pid_t>(live->pid));
    if (status) result.push_back(status->uid);
  }
  return result;
}

Result<FoundFile> SourceSearch::open_regular(const std::string& root,
                                             const std::string& path) const {
  FoundFile found;
  found.shown = root + path;
  const int no_link = options_.force ? 0 : O_NOFOLLOW;
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | no_link;
  found.fd = open_in_root(root, path, flags);
  if (!found.fd) {
    if (errno == ELOOP) {
      return fail(ErrorKind::not_permitted, "refused: is a symbolic link", found.shown,
                  "name the file itself, or --force");
    }
    return fail(system_error("cannot be opened", found.shown));
  }
  struct stat status{};
  if (::fstat(found.fd.get(), &status) != 0) {
    return fail(system_error("cannot be examined", found.shown));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorKind::not_permitted, fmt::format("refused: is {}", file_kind(status.st_mode)),
                found.shown, "a runtime writes a regular file");
  }
  found.modified_ns =
      static_cast<int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
  found.device = status.st_dev;
  found.inode = status.st_ino;
  found.owner = status.st_uid;
  found.mode = status.st_mode;
  return found;
}

Status SourceSearch::trusted(const FoundFile& found, const std::vector<uid_t>& owners) const {
  if (options_.force || std::ranges::find(owners, found.owner) != owners.end()) return {};
  if (found.proven) {
    if ((found.mode & (S_IWGRP | S_IWOTH)) == 0) return {};
    return fail(ErrorKind::not_permitted,
                fmt::format("refused: belongs to user {}, and others may write it (mode {:04o})",
                            found.owner, found.mode & 07777U),
                found.shown, "--force if it can be trusted");
  }
  return fail(ErrorKind::not_permitted,
              fmt::format("refused: belongs to user {}, neither to root nor to the process's or "
                          "the recording's owner",
                          found.owner),
              found.shown, "--force if it can be trusted");
}

Result<FoundFile> SourceSearch::open_trusted(const std::string& root, const std::string& path,
                                             const std::vector<uid_t>& owners) const {
  JITSCOPE_ASSIGN(FoundFile found, open_regular(root, path));
  JITSCOPE_TRY(trusted(found, owners));
  return found;
}

Status SourceSearch::times_fit(const FoundFile& file, const ProcessLife& life) const {
  if (options_.force || file.copied) return {};
  const int64_t slack = facts_.wall_slack();
  if (life.start != 0) {
    const auto start = facts_.wall_time(life.start);
    if (start && file.modified_ns < *start - slack) {
      return fail(ErrorKind::not_permitted,
                  "refused: older than the process (its pid was used before)", file.shown,
                  "--force if it belongs to this process all the same");
    }
  }
  if (life.end != UINT64_MAX) {
    const auto end = facts_.wall_time(life.end);
    if (end && file.modified_ns > *end + std::max<int64_t>(slack, 5'000'000'000)) {
      return fail(ErrorKind::not_permitted,
                  "refused: written after the process had ended (its pid was used again)",
                  file.shown, "--force if it belongs to this process all the same");
    }
  }
  return {};
}

Result<FoundFile> SourceSearch::perf_map(const ProcessLife& life, const Hints& hints,
                                         std::vector<PassedOver>& passed_over) const {
  const bool live = lives(life);
  auto allowed = owners(live ? &life : nullptr);
  allowed.insert(allowed.end(), hints.owners.begin(), hints.owners.end());
  const auto given = options_.perf_maps.find(life.pid);
  if (given != options_.perf_maps.end()) {
    // The user vouches for it.
    UniqueFd fd(::open(given->second.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) return fail(system_error("perf map cannot be opened", given->second));
    FoundFile found;
    found.fd = std::move(fd);
    found.shown = given->second;
    found.copied = true;
    return found;
  }
  std::vector<uint32_t> pids = hints.pids;
  pids.push_back(life.pid);
  std::vector<std::pair<std::string, std::string>> places;  // root, path
  for (const uint32_t pid : pids) {
    const std::string path = fmt::format("/tmp/perf-{}.map", pid);
    if (live) places.emplace_back(root_of(static_cast<pid_t>(life.pid)), path);
    if (!options_.root.empty()) places.emplace_back(options_.root, path);
  }
  const std::string own = fmt::format("perf-{}.map", life.pid);
  if (!facts_.folder().empty()) places.emplace_back("", facts_.folder() + own);
  if (options_.root.empty()) places.emplace_back("", "/tmp/" + own);
  Error best{ErrorKind::not_found, "no perf map", own, "", 0};
  for (const auto& [root, path] : places) {
    auto found = open_trusted(root, path, allowed);
    if (found) {
      found->copied = root.empty() && path == facts_.folder() + own && path != "/tmp/" + own;
      const Status fits = times_fit(*found, life);
      if (fits) {
        if (best.kind != ErrorKind::not_found) passed_over.push_back(passed(best));
        return found;
      }
      keep(best, fits.error(), passed_over);
    } else {
      keep(best, found.error(), passed_over);
    }
  }
  if (best.kind == ErrorKind::not_found && in_pid_namespace(life)) {
    return map_by_addresses(life, allowed);
  }
  return fail(std::move(best));
}

// What a process in a pid namespace calls itself is not recorded: of the maps that lie about, the
// one whose code lies in the process's executable memory is its own. Two that do tell nothing.
Result<FoundFile> SourceSearch::map_by_addresses(const ProcessLife& life,
                                                 const std::vector<uid_t>& allowed) const {
  const std::string folder = "/tmp";
  std::optional<FoundFile> only;
  for (const std::string& name : names_in(options_.root, folder)) {
    if (!name.starts_with("perf-") || !name.ends_with(".map")) continue;
    auto found = open_trusted(options_.root, fmt::format("{}/{}", folder, name), allowed);
    if (!found || !times_fit(*found, life) || !lies_in(*found, life)) continue;
    if (only) {
      return fail(ErrorKind::not_found, "more than one perf map fits the process's addresses",
                  only->shown + ", " + found->shown, "--perf-map PID=FILE says which");
    }
    only = std::move(*found);
  }
  if (!only) return fail(ErrorKind::not_found, "no perf map", folder);
  return std::move(*only);
}

// Whether the recording tells that this is the very file that was mapped, or what is missing. An
// inode that is used again for another file has another generation, or at least was born later.
Status SourceSearch::proven(const FoundFile& found, const MappedFileInfo& file,
                            uint64_t mapped) const {
  const auto not_known = [&](std::string_view why) {
    return fail(ErrorKind::not_possible, std::string(why), found.shown);
  };
  if (!file.identity) {
    if (file.inode != 0) return not_known("the recording tells of several files of this name");
    return not_known(file.build_id.empty()
                         ? "the recording does not say which file the process mapped (no inode)"
                         : "the recording has the build-id of the file that was mapped, not its "
                           "inode (perf record --no-buildid-mmap)");
  }
  const FileIdentity& identity = *file.identity;
  if (identity.inode != found.inode || ::makedev(identity.major, identity.minor) != found.device) {
    return not_known("it is another file than the one that the process mapped (device and inode)");
  }
  const auto generation = generation_of(found.fd);
  if (identity.generation != 0 && generation) {
    if (*generation == static_cast<uint32_t>(identity.generation)) return {};
    return not_known("it is another file than the one that the process mapped (generation)");
  }
  const auto born = birth_of(found.fd);
  const uint64_t begin = facts_.header().first_sample_time.value_or(0);
  const auto then = facts_.wall_time(std::max(mapped, begin));
  if (!born || !then) {
    return not_known(
        "whether its inode was another file's when the process mapped it cannot be told");
  }
  if (*born <= *then + facts_.wall_slack()) return {};
  return not_known("it was made after the process had mapped a file of its name");
}

// At the recorded path a file of another inode is another file; elsewhere it is a copy.
Status SourceSearch::is_mapped(const FoundFile& found, const MappedFileInfo& file) const {
  if (options_.force || found.copied || file.inode == 0 || file.inode == found.inode) return {};
  return fail(ErrorKind::not_permitted,
              "refused: another file than the one that was mapped (its inode differs)", found.shown,
              "--jitdump " + found.shown + " if it is the right one");
}

Result<FoundFile> SourceSearch::mapped_dump(const ProcessLife& life, const MappedFileInfo& file,
                                            uint64_t mapped,
                                            std::vector<PassedOver>& passed_over) const {
  const bool live = lives(life);
  const bool named_so = file.named_as_dump();
  const auto allowed = owners(live ? &life : nullptr);
  std::vector<std::pair<std::string, std::string>> places;
  if (!options_.root.empty()) places.emplace_back(options_.root, file.path);
  if (live) places.emplace_back(root_of(static_cast<pid_t>(life.pid)), file.path);
  if (options_.root.empty()) places.emplace_back("", file.path);
  if (!facts_.folder().empty()) places.emplace_back("", facts_.folder() + file.base);
  Error best{ErrorKind::not_found, "the jitdump that the process mapped is not there", file.path,
             "give it with --jitdump FILE, or its file system with --root DIR", 0};
  for (const auto& [root, path] : places) {
    auto found = open_regular(root, path);
    if (!found || !is_jitdump(found->fd)) {
      // Other executables are candidates only because they were mapped: nothing to tell.
      if (named_so) keep(best, found ? no_jitdump(*found) : found.error(), passed_over);
      continue;
    }
    found->copied = !options_.root.empty() || path != file.path;
    const Status identity = proven(*found, file, mapped);
    found->proven = identity.has_value();
    Status fits = trusted(*found, allowed);
    if (!fits && !identity) fits.error().what += ", and " + identity.error().what;
    if (fits) fits = is_mapped(*found, file);
    if (fits) {
      if (best.kind == ErrorKind::not_permitted) passed_over.push_back(passed(best));
      return found;
    }
    keep(best, fits.error(), passed_over);
  }
  return fail(std::move(best));
}

std::vector<FoundFile> SourceSearch::given_dumps(std::vector<std::string>& notes) const {
  std::vector<FoundFile> result;
  for (const std::string& given : options_.jitdumps) {
    std::vector<std::string> paths;
    const bool folder = is_directory(given);
    if (folder) {
      for (const std::string& name : names_in({}, given))
        paths.push_back(fmt::format("{}/{}", given, name));
    } else {
      paths.push_back(given);
    }
    for (const std::string& path : paths) {
      FoundFile found;
      found.fd = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
      struct stat status{};
      const bool there = found.fd && ::fstat(found.fd.get(), &status) == 0;
      const bool regular = there && S_ISREG(status.st_mode);
      if (regular && is_jitdump(found.fd)) {
        found.shown = path;
        found.inode = status.st_ino;
        found.device = status.st_dev;
        found.copied = true;
        result.push_back(std::move(found));
      } else if (!there) {
        notes.push_back(to_string(system_error("cannot be opened", path)));
      } else if (!folder || (regular && path.ends_with(".dump"))) {
        // Other files of a folder are none of ours.
        found.shown = path;
        notes.push_back(regular ? to_string(no_jitdump(found)) : path + ": no regular file");
      }
    }
  }
  return result;
}

std::vector<FoundFile> SourceSearch::recorded_dumps(const ProcessLife& life,
                                                    std::vector<PassedOver>& passed_over) const {
  std::vector<FoundFile> result;
  if (facts_.folder().empty()) return result;
  const std::string folder = facts_.path() + ".jit";
  const std::string prefix = fmt::format("jit-{}-", life.pid);
  const auto allowed = owners(nullptr);
  for (const std::string& name : names_in({}, folder)) {
    if (!name.starts_with(prefix)) continue;
    if (name.ends_with(".dump.new")) {
      passed_over.push_back(
          {fmt::format("{}/{}: was never finished (the disk was full?)", folder, name), false});
    }
    if (!name.ends_with(".dump")) continue;
    if (!facts_.by_jitscope()) {
      passed_over.push_back(
          {fmt::format("{}/{}: refused: left by jitscope record of another recording; this one was "
                       "written over it by perf {}",
                       folder, name, facts_.header().version),
           true});
      continue;
    }
    auto found = open_trusted("", fmt::format("{}/{}", folder, name), allowed);
    if (found && is_jitdump(found->fd)) {
      result.push_back(std::move(*found));
    } else {
      passed_over.push_back(passed(found ? no_jitdump(*found) : found.error()));
    }
  }
  return result;
}

}  // namespace jitscope
