// map_file and map_memfd: a file, or a memfd made in the target, mapped there by remote calls.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>

#include "base/page.h"
#include "process/mapped_identity.h"
#include "surgery/memfd_handover.h"
#include "surgery/surgery.h"

namespace jitscope {
namespace {

constexpr int64_t kLargestErrno = 4095;

using Arg = RemoteArgument;

bool is_error(int64_t result) {
  return result < 0 && result >= -kLargestErrno;
}

// mmap(address, length, r-x, MAP_PRIVATE | MAP_FIXED..., result of call 0, offset)
RemoteCall map_call(const Placement& place) {
  const int fixed = place.may_replace ? MAP_FIXED : MAP_FIXED_NOREPLACE;
  return {SYS_mmap,
          {Arg::of(place.address), Arg::of(place.length), Arg::of(PROT_READ | PROT_EXEC),
           Arg::of(static_cast<uint64_t>(MAP_PRIVATE | fixed)), Arg::of_result(0),
           Arg::of(place.offset)},
          {}};
}

Error remote_error(std::string_view what, std::string where, int64_t result) {
  Error error = system_error(what, std::move(where), static_cast<int>(-result));
  if (error.kind == ErrorKind::target_gone) error.kind = ErrorKind::not_possible;
  return error;
}

Error open_error(const Process& process, const std::string& path, int64_t result) {
  Error error =
      remote_error(fmt::format("process {} cannot open the file", process.pid()), path, result);
  switch (-result) {
    case ENOENT:
      error.hint = "the path is looked up in the target's own mount namespace and root directory";
      break;
    case EACCES:
      error.hint =
          fmt::format("the target's user (uid {}) must be able to read it", process.status().uid);
      break;
    case EMFILE:
    case ENFILE:
      error.hint = "the target has used up its file descriptors";
      break;
    default:
      break;
  }
  return error;
}

Error map_error(const Process& process, std::string where, uint64_t address, int64_t result) {
  Error error =
      remote_error(fmt::format("process {} cannot map the file at {:#x}", process.pid(), address),
                   std::move(where), result);
  switch (-result) {
    case EPERM:
      error.hint = "the file system is mounted noexec: use a directory that is not";
      break;
    case EACCES:
      error.hint = "a security module (SELinux, AppArmor) or the file system forbids it";
      break;
    case EEXIST:
      error.hint = "the address was taken meanwhile: try again";
      break;
    case ENOMEM:
      error.hint = "the target has used up its mappings (vm.max_map_count) or its address space";
      break;
    default:
      break;
  }
  return error;
}

Status check_place(const Placement& place) {
  if (place.address == 0 || place.address % kPage != 0 || place.offset % kPage != 0 ||
      place.length == 0 || place.address + place.length < place.address) {
    return fail(ErrorKind::usage,
                fmt::format("{:#x} bytes cannot be mapped at {:#x}", place.length, place.address));
  }
  return {};
}

// All of the place is mapped, readable and executable, from the file that was meant.
Status check_mapped(const Process& process, const Placement& place, int own) {
  JITSCOPE_ASSIGN(const MappedIdentity meant, identity_of_file(own));
  JITSCOPE_ASSIGN(const auto maps, process.maps());
  uint64_t at = place.address;
  while (at < place.address + place.length) {
    const Mapping* mapping = find_mapping(maps, at);
    const std::string where = fmt::format("pid {}, address {:#x}", process.pid(), at);
    if (mapping == nullptr || !mapping->readable || !mapping->executable || mapping->writable ||
        mapping->shared || !mapping->file_backed() ||
        mapping->offset - place.offset != mapping->start - place.address) {
      return fail(ErrorKind::not_possible, "the mapping is not there after it was made", where,
                  "the target, or another tool, unmapped or replaced it");
    }
    if (identity_of(*mapping) != meant) {
      return fail(ErrorKind::not_possible,
                  fmt::format("the target mapped another file than ours: {}", mapping->path), where,
                  "the target exchanged the file; nothing was probed");
    }
    at = mapping->end;
  }
  return {};
}

Result<StopReport> finish(const Process& process, const RemoteReport& report,
                          const Placement& place, int own, const std::string& where) {
  const int64_t mapped = report.results.at(1);
  if (is_error(mapped)) return fail(map_error(process, where, place.address, mapped));
  if (static_cast<uint64_t>(mapped) != place.address) {
    // Kernels before 4.17 take the address as a hint.
    return fail(ErrorKind::not_possible, "this kernel has no MAP_FIXED_NOREPLACE", where);
  }
  JITSCOPE_TRY(check_mapped(process, place, own));
  return report.stop;
}

Result<RemoteReport> run(const Process& process, std::span<const RemoteCall> calls,
                         const Placement& place, const StopOptions& options) {
  return place.may_replace ? run_in_full_stop(process, calls, place.may_replace, options)
                           : run_remote_calls(process, calls, false, {}, options);
}

}  // namespace

Result<StopReport> map_file(const Process& process, const std::string& path_in_target, int own,
                            const Placement& placement, const StopOptions& options) {
  JITSCOPE_TRY(check_place(placement));
  if (!path_in_target.starts_with('/')) {
    return fail(ErrorKind::usage, "the path of a file to map must be absolute", path_in_target);
  }
  const auto opened = [&](int64_t result) -> Status {
    return is_error(result) ? Status{} : check_descriptor(process, static_cast<int>(result), own);
  };
  const std::vector<RemoteCall> calls = {
      {SYS_openat,
       {Arg::of(static_cast<uint64_t>(AT_FDCWD)), Arg::of_text(path_in_target),
        Arg::of(O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)},
       opened},
      map_call(placement),
      {SYS_close, {Arg::of_result(0)}, {}},
  };
  JITSCOPE_ASSIGN(const RemoteReport report, run(process, calls, placement, options));
  if (is_error(report.results.at(0))) {
    return fail(open_error(process, path_in_target, report.results[0]));
  }
  return finish(process, report, placement, own, path_in_target);
}

Result<StopReport> map_memfd(const Process& process, const std::string& name,
                             const Placement& placement,
                             const std::function<Status(UniqueFd)>& fill,
                             const StopOptions& options) {
  JITSCOPE_TRY(check_place(placement));
  JITSCOPE_ASSIGN(const std::string unique, unique_memfd_name(name));
  const std::string where = fmt::format("memfd {}", unique);
  UniqueFd own;
  const auto created = [&](int64_t result) -> Status {
    if (is_error(result)) {
      return fail(remote_error(fmt::format("process {} cannot make a memfd", process.pid()), where,
                               result));
    }
    JITSCOPE_ASSIGN(own, take_over_memfd(process, static_cast<int>(result), unique));
    if (!fill) return {};
    UniqueFd given(::fcntl(own.get(), F_DUPFD_CLOEXEC, 0));
    if (!given) return fail(system_error("cannot keep the target's memfd", where));
    return fill(std::move(given));
  };
  const std::vector<RemoteCall> calls = {
      {SYS_memfd_create, {Arg::of_text(unique), Arg::of(MFD_CLOEXEC | MFD_ALLOW_SEALING)}, created},
      map_call(placement),
      {SYS_close, {Arg::of_result(0)}, {}},
  };
  JITSCOPE_ASSIGN(const RemoteReport report, run(process, calls, placement, options));
  return finish(process, report, placement, own.get(), where);
}

}  // namespace jitscope
