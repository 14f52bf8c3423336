// One row for each reason; what differs by runtime is in runtimes/runtime_kind.cc.
#include "doctor/advice.h"

#include <array>

#include "naming/resolver.h"

namespace jitscope {
namespace {

constexpr std::string_view kNoMapping = "no mapping of the process holds the address";
constexpr std::string_view kNoSource = "JIT code without a map or dump";
constexpr std::string_view kEmptyDump = "the process's jitdump is empty";
constexpr std::string_view kNoBodyThen = "no body of the process's jitdump lay there at that time";
constexpr std::string_view kNoLineThere = "no line of the process's perf map holds the address";
constexpr std::string_view kMonoWritesLate =
    "Mono writes its map in blocks of 4 KB, and the rest when it ends: read the recording again "
    "then";
constexpr std::string_view kV8WritesLate =
    "the dump was started late, or node was killed: V8 writes its jitdump in blocks, and the last "
    "one is lost then; let node end by itself, or use --perf-basic-prof";
constexpr std::string_view kKeepFramePointers =
    "the stack walk went astray: start the JVM with -XX:+PreserveFramePointer";

struct Advice {
  std::string_view reason;
  std::string_view text;
};
constexpr std::array kAdvice = {
    Advice{kNoSource, ""},
    Advice{
        kEmptyDump,
        "its runtime had written nothing to it: most write in blocks, or when they end; record to "
        "the end, and see that there is room on the disk"},
    Advice{"the JIT's map or dump was refused",
           "see the sources below: the refusal says why; --force accepts what is a regular file"},
    Advice{kNoBodyThen,
           "the dump was started late or was cut (record from the start of the process), or the "
           "code came and went between two looks of `jitscope record`"},
    Advice{"compiled after the last look of jitscope record, before the process ended",
           "code that is compiled in the last moments of a process is gone before it is seen: have "
           "the runtime write a jitdump (`jitscope agent`) if these moments matter"},
    Advice{kNoLineThere,
           "the map was written before the code was compiled, or the code was gone when it was "
           "written: use a jitdump, or `jitscope record`"},
    Advice{"the code that lay there had been replaced by then",
           "usually a stack walk that went astray: look for frames without frame pointers"},
    Advice{"a mapped file that is no ELF, without a map",
           "give its symbols with --map FILE=PATH, or have the runtime write a jitdump"},
    Advice{"the map given for the file was made for another one",
           "make the map from the file that ran, or correct its build-id, size or guid line"},
    Advice{"no line of the map given for the file holds the address",
           "check the map's base: --map FILE=PATH:base=file, rva or absolute"},
    Advice{kNoMapping,
           "the stack walk went astray: code built without frame pointers (-fno-omit-frame-pointer "
           "keeps them)"},
    Advice{"the ELF file has no symbols (stripped)",
           "install the package's debug symbols (-dbgsym), or set DEBUGINFOD_URLS and use "
           "--debuginfod"},
    Advice{"stripped ELF file: only exported symbols are known",
           "install the package's debug symbols (-dbgsym), or set DEBUGINFOD_URLS and use "
           "--debuginfod"},
    Advice{kNotAllRead, "the notes at the end say of which file, and why"},
    Advice{
        kNoTimeLeft,
        "the notes at the end say which files took so long: remove them or leave their processes "
        "out, and read the recording again"},
    Advice{"no symbol of the ELF file holds the address",
           "assembly or padding without a symbol: nothing names it"},
    Advice{"the file changed since the recording",
           "it was upgraded or rebuilt: put the old file below DIR and use --root DIR, or use "
           "--debuginfod"},
    Advice{"the file was deleted",
           "put a copy of it below DIR at the same path and use --root DIR"},
    Advice{"the file cannot be read",
           "it lies in a container or was removed: give its file system with --root DIR"},
    Advice{"the ELF file is damaged", "compare it with the package's file"},
    Advice{"kernel symbols cannot be read", "run as root, or sysctl kernel.kptr_restrict=0"},
    Advice{"kernel code of another machine or boot",
           "read the recording on the machine and boot that made it"},
    Advice{"kernel code of another kernel than the one that runs now",
           "read the recording under the kernel that made it"},
    Advice{"kernel code of an earlier boot (its addresses were others)",
           "read the recording before the machine is booted again"},
    Advice{kCopiedText,
           "record with `jitscope record`, which compares it with the file while the process runs, "
           "or read the recording while it runs; without large pages for code nothing is copied"},
    Advice{kAmbiguous,
           "use a jitdump with `perf record -k mono`, or `jitscope record`, which knows when code "
           "was there"},
};

// JIT code of which nothing tells.
std::string how_to_name(const Program& program) {
  if (program.names_missing) {
    return "the folder in which jitscope record left the names is missing: put it beside the "
           "recording";
  }
  if (program.followed && program.kind.seen_from_outside()) {
    return "the process ended before jitscope record had looked at it, within its first tenth of a "
           "second or so: have the JVM write a jitdump (`jitscope agent`) if these moments matter";
  }
  std::string text = program.kind.how_to_name();
  const bool own = program.runtime != Runtime::unknown && !program.kind.seen_from_outside();
  if (own) text += "; a map that it wrote elsewhere (in a container): --perf-map PID=FILE";
  return text;
}

}  // namespace

std::string advice_for(std::string_view reason, const Program& program) {
  const Runtime runtime = program.runtime;
  for (const Advice& advice : kAdvice) {
    if (advice.reason != reason) continue;
    if (reason == kNoBodyThen && runtime == Runtime::v8) return std::string(kV8WritesLate);
    if (reason == kEmptyDump && runtime == Runtime::v8) return std::string(kV8WritesLate);
    if (reason == kNoMapping && runtime == Runtime::hotspot) return std::string(kKeepFramePointers);
    if ((reason == kNoBodyThen || reason == kNoLineThere) && runtime == Runtime::mono) {
      return std::string(kMonoWritesLate);
    }
    return advice.text.empty() ? how_to_name(program) : std::string(advice.text);
  }
  return {};
}

}  // namespace jitscope
