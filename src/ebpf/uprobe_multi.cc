#include "ebpf/uprobe_multi.h"

#include <fmt/format.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/byte_cursor.h"
#include "ebpf/bpf_support.h"

namespace jitscope {
namespace {

// The part of union bpf_attr that BPF_LINK_CREATE reads for this kind of link; the header of Debian
// 12's kernel is older than it.
struct LinkCreate {
  uint32_t program_fd = 0;
  uint32_t target_fd = 0;
  uint32_t attach_type = 0;
  uint32_t flags = 0;
  uint64_t path = 0;
  uint64_t offsets = 0;
  uint64_t reference_counters = 0;
  uint64_t cookies = 0;
  uint32_t count = 0;
  uint32_t multi_flags = 0;
  uint32_t pid = 0;
  uint32_t pad = 0;
};

}  // namespace

bool kernel_has_uprobe_multi() {
  utsname name = {};
  if (::uname(&name) != 0) return false;
  const std::string_view release = name.release;
  const size_t dot = release.find('.');
  if (dot == std::string_view::npos) return false;
  const size_t end = release.find_first_not_of("0123456789", dot + 1);
  const auto major = parse_decimal(release.substr(0, dot));
  const auto minor = parse_decimal(release.substr(dot + 1, end - dot - 1));
  return major && minor && (*major > 6 || (*major == 6 && *minor >= 10));
}

Result<UniqueFd> attach_uprobe_multi(int program_fd, const std::string& file,
                                     std::span<const uint64_t> offsets,
                                     std::span<const uint64_t> cookies, pid_t pid) {
  LinkCreate create;
  create.program_fd = static_cast<uint32_t>(program_fd);
  create.attach_type = uprobe_multi_attach_type;
  create.path = reinterpret_cast<uint64_t>(file.c_str());
  create.offsets = reinterpret_cast<uint64_t>(offsets.data());
  create.cookies = reinterpret_cast<uint64_t>(cookies.data());
  create.count = static_cast<uint32_t>(offsets.size());
  create.pid = static_cast<uint32_t>(pid);
  UniqueFd link(static_cast<int>(::syscall(SYS_bpf, BPF_LINK_CREATE, &create, sizeof(create))));
  if (!link) {
    const int code = errno;
    Error error = bpf_error(fmt::format("cannot set {} uprobes", offsets.size()), code);
    error.where = file;
    if (code == ESRCH) error.kind = ErrorKind::target_gone;
    return fail(std::move(error));
  }
  return link;
}

}  // namespace jitscope
