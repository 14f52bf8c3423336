#include "process/mapped_identity.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mapped_file.h"
#include "base/same_file.h"
#include "base/unique_fd.h"
#include "process/tasks.h"

namespace jitscope {

MappedIdentity identity_of(const Mapping& mapping) {
  return {mapping.dev_major, mapping.dev_minor, mapping.inode};
}

Result<MappedIdentity> identity_of_file(int fd) {
  constexpr size_t kPage = 4096;
  void* const at = ::mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE, fd, 0);
  if (at == MAP_FAILED) return fail(system_error("cannot map a file of our own"));
  const auto text = read_text_file("/proc/self/maps");
  ::munmap(at, kPage);
  if (!text) return fail(text.error());
  const std::vector<Mapping> maps = parse_maps(*text);
  const Mapping* mapping = find_mapping(maps, reinterpret_cast<uint64_t>(at));
  if (mapping == nullptr || !mapping->file_backed()) {
    return fail(ErrorKind::not_possible, "a file of our own does not show among our mappings");
  }
  return identity_of(*mapping);
}

Status check_descriptor(const Process& process, int number, int own) {
  const std::string path = task_path(process.pid(), fmt::format("fd/{}", number));
  const UniqueFd theirs(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat seen = {};
  struct stat meant = {};
  if (!theirs || ::fstat(theirs.get(), &seen) != 0) {
    return fail(system_error("cannot look at the file that the target opened", path));
  }
  if (::fstat(own, &meant) != 0) return fail(system_error("cannot look at a file of our own"));
  if (same_file(seen, meant)) return {};
  return fail(ErrorKind::not_possible, "the target opened another file than ours", path,
              "somebody exchanged the file; nothing was mapped");
}

}  // namespace jitscope
