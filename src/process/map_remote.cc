// map_file and map_memfd: a file, or a memfd made in the target, mapped there by remote calls.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>

#include "process/surgery.h"
#include "process/tasks.h"

namespace jitscope {
namespace {

constexpr uint64_t kPage = 4096;
constexpr int64_t kLargestErrno = 4095;

using Arg = RemoteArgument;

bool is_error(int64_t result) {
  return result < 0 && result >= -kLargestErrno;
}

// mmap(address, length, r-x, MAP_PRIVATE | MAP_FIXED_NOREPLACE, result of call 0, 0)
RemoteCall map_call(uint64_t address, uint64_t length) {
  return {SYS_mmap,
          {Arg::of(address), Arg::of(length), Arg::of(PROT_READ | PROT_EXEC),
           Arg::of(MAP_PRIVATE | MAP_FIXED_NOREPLACE), Arg::of_result(0), Arg::of(0)},
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

Status check_place(uint64_t address, uint64_t length) {
  if (address == 0 || address % kPage != 0 || length == 0 || address + length < address) {
    return fail(ErrorKind::usage,
                fmt::format("{:#x} bytes cannot be mapped at {:#x}", length, address));
  }
  return {};
}

// All of [address, address + length) is mapped from one file, readable and executable.
Status check_mapped(const Process& process, uint64_t address, uint64_t length) {
  JITSCOPE_ASSIGN(const auto maps, process.maps());
  uint64_t at = address;
  while (at < address + length) {
    const Mapping* mapping = find_mapping(maps, at);
    if (mapping == nullptr || !mapping->readable || !mapping->executable ||
        !mapping->file_backed() || mapping->offset != mapping->start - address) {
      return fail(ErrorKind::not_possible,
                  fmt::format("the mapping at {:#x} is not there after it was made", address),
                  fmt::format("pid {}", process.pid()),
                  "the target, or another tool, unmapped or replaced it");
    }
    at = mapping->end;
  }
  return {};
}

Result<StopReport> finish(const Process& process, const RemoteReport& report, uint64_t address,
                          uint64_t length, const std::string& where) {
  const int64_t mapped = report.results.at(1);
  if (is_error(mapped)) return fail(map_error(process, where, address, mapped));
  if (static_cast<uint64_t>(mapped) != address) {  // kernels before 4.17 take the address as a hint
    return fail(ErrorKind::not_possible, "this kernel has no MAP_FIXED_NOREPLACE", where);
  }
  JITSCOPE_TRY(check_mapped(process, address, length));
  return report.stop;
}

}  // namespace

Result<StopReport> map_file(const Process& process, const std::string& path_in_target,
                            uint64_t address, uint64_t length, const StopOptions& options) {
  JITSCOPE_TRY(check_place(address, length));
  if (!path_in_target.starts_with('/')) {
    return fail(ErrorKind::usage, "the path of a file to map must be absolute", path_in_target);
  }
  const std::vector<RemoteCall> calls = {
      {SYS_openat,
       {Arg::of(static_cast<uint64_t>(AT_FDCWD)), Arg::of_text(path_in_target),
        Arg::of(O_RDONLY | O_CLOEXEC)},
       {}},
      map_call(address, length),
      {SYS_close, {Arg::of_result(0)}, {}},
  };
  JITSCOPE_ASSIGN(const RemoteReport report, run_remote_calls(process, calls, false, {}, options));
  if (is_error(report.results.at(0))) {
    return fail(open_error(process, path_in_target, report.results[0]));
  }
  return finish(process, report, address, length, path_in_target);
}

Result<StopReport> map_memfd(const Process& process, const std::string& name, uint64_t address,
                             uint64_t length, const std::function<Status(const std::string&)>& fill,
                             const StopOptions& options) {
  JITSCOPE_TRY(check_place(address, length));
  const std::string where = fmt::format("memfd {}", name);
  const auto created = [&](int64_t result) -> Status {
    if (is_error(result)) {
      return fail(remote_error(fmt::format("process {} cannot make a memfd", process.pid()), where,
                               result));
    }
    return fill ? fill(task_path(process.pid(), fmt::format("fd/{}", result))) : Status{};
  };
  const std::vector<RemoteCall> calls = {
      {SYS_memfd_create, {Arg::of_text(name), Arg::of(MFD_CLOEXEC)}, created},
      map_call(address, length),
      {SYS_close, {Arg::of_result(0)}, {}},
  };
  JITSCOPE_ASSIGN(const RemoteReport report, run_remote_calls(process, calls, false, {}, options));
  return finish(process, report, address, length, where);
}

}  // namespace jitscope
