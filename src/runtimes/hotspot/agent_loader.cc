#include "runtimes/hotspot/agent_loader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/agent_codes.h"
#include "base/open_file.h"
#include "base/output_folder.h"
#include "base/path.h"
#include "base/unique_fd.h"
#include "runtimes/hotspot/attach.h"
#include "runtimes/hotspot/scoped_identity.h"

namespace jitscope {
namespace {

constexpr std::string_view kLibrary = "libjitscope-agent.so";
// A JVM with a hundred thousand compiled methods takes some seconds to tell of them.
constexpr std::chrono::milliseconds kLoadTime = std::chrono::minutes(2);

std::string where(const Process& process) {
  return fmt::format("pid {}", process.pid());
}

// The library in a file that the JVM can read by `path`; a copy is removed at the end of the scope.
class VisibleLibrary {
 public:
  VisibleLibrary() = default;
  VisibleLibrary(const VisibleLibrary&) = delete;
  VisibleLibrary& operator=(const VisibleLibrary&) = delete;
  ~VisibleLibrary() {
    if (!folder_) return;
    const ScopedIdentity identity(uid_, gid_);
    ::unlinkat(folder_.get(), name_.c_str(), 0);
  }

  Status find(const Process& process, const std::string& library) {
    uid_ = process.status().uid;
    gid_ = process.status().gid;
    if (!process.other_mount_namespace() && readable(library)) {
      path_ = library;
      return {};
    }
    return copy(process, library);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool copied() const { return folder_.valid(); }

 private:
  [[nodiscard]] bool readable(const std::string& library) const {
    const ScopedIdentity identity(uid_, gid_);
    return identity.status() && ::faccessat(AT_FDCWD, library.c_str(), R_OK, AT_EACCESS) == 0;
  }
  Status copy(const Process& process, const std::string& library) {
    const UniqueFd from(::open(library.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info{};
    if (!from || ::fstat(from.get(), &info) != 0) {
      return fail(system_error("cannot read the agent", library));
    }
    UniqueFd folder = open_in_root(root_of(process.pid()), "/tmp", O_PATH | O_DIRECTORY);
    if (!folder) return fail(system_error("cannot open the JVM's /tmp", where(process)));
    uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) {
      return fail(system_error("getrandom"));
    }
    name_ = fmt::format(".jitscope-agent-{:016x}.so", random);
    // As the JVM's user: its own file, and never one where that user could make none.
    const ScopedIdentity identity(uid_, gid_);
    JITSCOPE_TRY(identity.status());
    const UniqueFd file(::openat(folder.get(), name_.c_str(),
                                 O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0500));
    if (!file) {
      return fail(system_error("cannot copy the agent into the JVM's /tmp", where(process))
                      .advise("put it where the JVM can read it, and name that path with --agent"));
    }
    folder_ = std::move(folder);
    path_ = "/tmp/" + name_;
    for (off_t left = info.st_size; left > 0;) {
      const ssize_t sent = ::sendfile(file.get(), from.get(), nullptr, static_cast<size_t>(left));
      if (sent <= 0) {
        return fail(system_error("cannot copy the agent into the JVM's /tmp", where(process)));
      }
      left -= sent;
    }
    return {};
  }

  UniqueFd folder_;
  std::string name_;
  std::string path_;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
};

// The jitdump that the process maps.
std::string mapped_dump(const Process& process) {
  const std::string name = fmt::format("jit-{}.dump", process.ns_pid());
  const auto maps = process.maps();
  if (!maps) return {};
  for (const Mapping& mapping : *maps) {
    if (mapping.executable && base_name(mapping.path) == name) return mapping.path;
  }
  return {};
}

Error with_hint(Error error) {
  const auto says = [&](std::string_view text) {
    return error.what.find(text) != std::string::npos;
  };
  if (says("EnableDynamicAgentLoading")) {
    error.hint =
        "this JVM lets no agent in while it runs: start it with -XX:+EnableDynamicAgentLoading, or "
        "with -agentpath: and what `jitscope agent path` prints";
  } else if (says("GLIBC_") || says("ld-linux") || says("libc.so.6")) {
    error.hint = "the agent needs glibc 2.28 or later in the JVM's container";
  } else if (says("failed to map segment")) {
    error.hint =
        "its /tmp is mounted noexec: put the agent where the JVM may execute it, and name "
        "that path with --agent";
  }
  return error;
}

Status check_code(int code, const Process& process) {
  switch (code) {
    case agent::kLoaded:
    case agent::kHasDump:
      return {};
    case agent::kWrongOptions:
      return fail(ErrorKind::usage, "the agent does not know this option", where(process));
    case agent::kNoDump:
      return fail(ErrorKind::not_possible, "the agent could not make its dump", where(process),
                  "the JVM's standard error says why; name another folder with --dir");
    case agent::kNoCapabilities:
      return fail(ErrorKind::not_possible, "this JVM does not tell agents of compiled methods",
                  where(process));
    default:
      return fail(ErrorKind::not_possible, fmt::format("the agent was refused with code {}", code),
                  where(process));
  }
}

}  // namespace

Result<std::string> find_agent_library() {
  std::array<char, 4096> buffer{};
  const ssize_t length = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  struct stat program_status = {};
  if (length <= 0 || ::stat("/proc/self/exe", &program_status) != 0) {
    return fail(system_error("cannot read where this program lies"));
  }
  const std::string program(buffer.data(), static_cast<size_t>(length));
  const std::string folder = program.substr(0, program.rfind('/'));
  const std::string prefix = folder.substr(0, folder.rfind('/'));
  std::string tried;
  for (const std::string& each : {folder, prefix + "/lib/jitscope", prefix + "/lib"}) {
    std::string path = fmt::format("{}/{}", each, kLibrary);
    tried += tried.empty() ? each : ", " + each;
    if (::access(path.c_str(), R_OK) != 0) continue;
    // It becomes part of a JVM. Whoever owns this program could have changed that as well.
    const UniqueFd opened(::open(each.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (opened && is_private_folder(opened.get(), program_status.st_uid)) return path;
    tried += " (left alone: others may write there)";
  }
  return fail(ErrorKind::not_found, fmt::format("{} is not there", kLibrary), tried,
              "it is built when a JDK with its headers is there; --agent names one elsewhere");
}

Result<int> parse_load_answer(std::string_view answer) {
  while (answer.ends_with('\n') || answer.ends_with('\r')) answer.remove_suffix(1);
  constexpr std::string_view kCode = "return code: ";
  std::string_view number = answer.substr(answer.rfind('\n') + 1);
  if (number.starts_with(kCode)) number.remove_prefix(kCode.size());
  if (answer.empty()) return 0;
  int code = 0;
  const char* const last = number.data() + number.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the end is given
  const auto [stop, problem] = std::from_chars(number.data(), last, code);
  if (problem == std::errc{} && stop == last) return code;
  return fail(ErrorKind::not_possible,
              fmt::format("the JVM did not load the agent: {}", answer.substr(0, 500)));
}

Result<AgentLoad> load_agent(const Process& process, const AgentRequest& request) {
  AgentLoad result;
  result.dump = mapped_dump(process);
  if (!result.dump.empty()) {
    result.already = true;
    return result;
  }
  JITSCOPE_TRY(can_attach(process));
  VisibleLibrary library;
  JITSCOPE_TRY(library.find(process, request.library));
  result.copied = library.copied();
  const std::vector<std::string> arguments = {
      library.path(), "true",
      request.directory.empty() ? std::string() : "dir=" + request.directory};
  auto answer = attach_command(process, "load", arguments, kLoadTime);
  if (!answer) return fail(with_hint(std::move(answer.error())));
  auto code = parse_load_answer(*answer);
  if (!code) return fail(with_hint(std::move(code.error()).at(where(process))));
  JITSCOPE_TRY(check_code(*code, process));
  result.already = *code == agent::kHasDump;
  result.dump = mapped_dump(process);
  return result;
}

}  // namespace jitscope
