#include "profile/doctor.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>

namespace jitscope {
namespace {

constexpr std::string_view kAmbiguous =
    "ambiguous: bodies of other names lay at the address, and nothing tells when";

constexpr std::string_view kNoMapping = "no mapping of the process holds the address";
constexpr std::string_view kNoSource = "JIT code without a map or dump";
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

// How a runtime is told to write what names its code.
std::string_view runtime_switch(Runtime runtime) {
  switch (runtime) {
    case Runtime::hotspot:
      return "record with `jitscope record -p PID` (no flag needed), or run `jcmd PID "
             "Compiler.perfmap` before the process ends";
    case Runtime::v8:
      return "start node with --perf-prof (a jitdump: right in time) or --perf-basic-prof (a map), "
             "best with --interpreted-frames-native-stack";
    case Runtime::dotnet:
      return "start it with DOTNET_PerfMapEnabled=1 (map and jitdump)";
    case Runtime::erlang:
      return "start it with +JPperf true";
    case Runtime::php:
      return "start it with -d opcache.jit_debug=0x30 (0x10: a map, 0x20: a jitdump)";
    case Runtime::mono:
      return "start it with --jitmap";
    case Runtime::unknown:
      return "have the runtime write a jitdump or a perf map (CPython 3.12+: -X perf; 3.13: -X "
             "perf_jit; Ruby: --yjit-perf; wasmtime: --profile jitdump), or give one with "
             "--jitdump or --perf-map";
  }
  return "";
}

struct Advice {
  std::string_view reason;
  std::string_view text;
};
constexpr std::array kAdvice = {
    Advice{kNoSource, ""},
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
    Advice{kAmbiguous,
           "use a jitdump with `perf record -k mono`, or `jitscope record`, which knows when code "
           "was there"},
};

using Key = std::tuple<uint32_t, std::string, std::string>;  // pid, process, reason

}  // namespace

std::string advice_for(std::string_view reason, Runtime runtime) {
  for (const Advice& advice : kAdvice) {
    if (advice.reason != reason) continue;
    if (reason == kNoBodyThen && runtime == Runtime::v8) return std::string(kV8WritesLate);
    if (reason == kNoMapping && runtime == Runtime::hotspot) return std::string(kKeepFramePointers);
    if ((reason == kNoBodyThen || reason == kNoLineThere) && runtime == Runtime::mono) {
      return std::string(kMonoWritesLate);
    }
    if (!advice.text.empty()) return std::string(advice.text);
    std::string text(runtime_switch(runtime));
    if (runtime != Runtime::hotspot && runtime != Runtime::unknown) {
      text += "; a map that it wrote elsewhere (in a container): --perf-map PID=FILE";
    }
    return text;
  }
  return {};
}

namespace {

// Which of the things that a complaint is about has most of its samples.
class Example {
 public:
  void count(const std::string& text, uint64_t leaves, uint64_t frames) {
    if (text.empty()) return;
    auto& [leaf_sum, frame_sum] = sums_[text];
    leaf_sum += leaves;
    frame_sum += frames;
  }
  [[nodiscard]] std::string most() const {
    const auto it =
        std::ranges::max_element(sums_, {}, [](const auto& entry) { return entry.second; });
    return it == sums_.end() ? std::string() : it->first;
  }

 private:
  std::map<std::string, std::pair<uint64_t, uint64_t>> sums_;
};

// How many stacks of the processes of one name end before they should.
struct Stacks {
  bool hotspot = false;
  uint64_t all = 0;
  uint64_t cut = 0;          // samples whose stack is as long as the kernel allows
  uint64_t user = 0;         // samples of user code
  uint64_t callerless = 0;   // of these: no caller at all
  uint64_t java = 0;         // samples with compiled Java code on the stack
  uint64_t java_broken = 0;  // of these: its outermost frame was called by none of HotSpot's code
};

bool is_compiled_java(const Frame& frame) {
  return frame.tier == Tier::c1 || frame.tier == Tier::c1_limited || frame.tier == Tier::c1_full ||
         frame.tier == Tier::c2;
}

// The kernel's own limit, unless kernel.perf_event_max_stack says otherwise.
constexpr size_t kMostFrames = 127;

// What lies outside a stack that is cut is not known. A walk that went astray is as long.
bool is_cut(const Profile& profile, StackId stack) {
  size_t depth = 0;
  FrameKind outermost = FrameKind::unknown;
  for (StackId node = stack; node != kRootStack; node = profile.nodes[node].parent) {
    const FrameKind kind = profile.frames[profile.nodes[node].frame].kind;
    const bool inlined = kind == FrameKind::native_inlined || kind == FrameKind::jit_inlined;
    depth += inlined ? 0 : 1;
    outermost = kind;
  }
  return depth == kMostFrames && outermost != FrameKind::unknown;
}

void count_stack(const Profile& profile, const StackWeight& entry, Stacks& stacks) {
  if (entry.stack == kRootStack) return;
  stacks.all += entry.samples;
  if (is_cut(profile, entry.stack)) {
    stacks.cut += entry.samples;
    return;
  }
  const StackNode& leaf = profile.nodes[entry.stack];
  if (profile.frames[leaf.frame].kind == FrameKind::kernel) return;
  stacks.user += entry.samples;
  if (leaf.parent == kRootStack) stacks.callerless += entry.samples;
  const Frame* caller = nullptr;  // of the outermost compiled frame; native code only enters Java
  bool java = false;              // by way of a stub
  for (StackId node = entry.stack; node != kRootStack; node = profile.nodes[node].parent) {
    if (!is_compiled_java(profile.frames[profile.nodes[node].frame])) continue;
    java = true;
    const StackId parent = profile.nodes[node].parent;
    caller = parent == kRootStack ? nullptr : &profile.frames[profile.nodes[parent].frame];
  }
  if (!java) return;
  stacks.java += entry.samples;
  if (caller == nullptr || caller->kind == FrameKind::native ||
      caller->kind == FrameKind::native_inlined || caller->kind == FrameKind::unknown) {
    stacks.java_broken += entry.samples;
  }
}

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// What is said of stacks; names may all be right and callers missing all the same.
void note_stacks(const std::map<std::string, Stacks>& by_process, bool any_caller,
                 Diagnosis& result) {
  constexpr uint64_t enough = 20;
  if (result.samples == 0) return;
  if (!any_caller) {
    result.notes.emplace_back(
        "no sample has a caller: it was recorded without stacks (perf record -g, or jitscope "
        "record without --no-stacks), or all code was built without frame pointers");
    return;
  }
  for (const auto& [process, stacks] : by_process) {
    if (stacks.all >= enough && share(stacks.cut, stacks.all) >= 1) {
      result.notes.push_back(
          fmt::format("{}: {:.0f} % of the stacks are cut at {} frames: set the sysctl "
                      "kernel.perf_event_max_stack higher before recording",
                      process, share(stacks.cut, stacks.all), kMostFrames));
    }
    if (stacks.java >= enough && share(stacks.java_broken, stacks.java) >= 10) {
      result.notes.push_back(
          fmt::format("{}: {:.0f} % of the stacks with compiled Java code lack callers: start the "
                      "JVM with -XX:+PreserveFramePointer",
                      process, share(stacks.java_broken, stacks.java)));
    } else if (stacks.user >= enough && share(stacks.callerless, stacks.user) >= 50) {
      result.notes.push_back(fmt::format(
          "{}: {:.0f} % of the samples of its code have no caller: {}", process,
          share(stacks.callerless, stacks.user),
          stacks.hotspot ? "start the JVM with -XX:+PreserveFramePointer"
                         : "it was built without frame pointers (-fno-omit-frame-pointer keeps "
                           "them)"));
    }
  }
}

}  // namespace

std::string unread_stacks(const perfdata::Header& header) {
  for (const perfdata::EventInfo& event : header.events) {
    const bool lbr = (event.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK) != 0;
    if (!lbr && (event.sample_type & PERF_SAMPLE_STACK_USER) == 0) continue;
    return fmt::format(
        "callers in user code are missing: stacks of --call-graph {} are not read; record with "
        "--call-graph fp (or -g), or with jitscope record",
        lbr ? "lbr" : "dwarf");
  }
  return {};
}

Diagnosis diagnose(Session& session, const Profile& profile) {
  Diagnosis result;
  result.samples = profile.samples;
  result.lost = profile.lost;
  // Frames on the way from the root to each node that have a complaint: a few distinct ones.
  std::map<Key, Complaint> complaints;
  std::map<Key, Example> examples;
  std::map<std::string, Stacks> stacks;
  bool any_caller = false;
  for (const StackWeight& entry : profile.stacks) {
    const Group& group = profile.groups[entry.group];
    bool leaf = true;
    count_stack(profile, entry, stacks[group.process]);
    any_caller = any_caller ||
                 (entry.stack != kRootStack && profile.nodes[entry.stack].parent != kRootStack);
    for (StackId node = entry.stack; node != kRootStack; node = profile.nodes[node].parent) {
      const Frame& frame = profile.frames[profile.nodes[node].frame];
      result.frames += entry.samples;
      const bool nameless = frame.method.empty();
      if (!nameless) result.named_frames += entry.samples;
      if (nameless || frame.ambiguous) {
        const std::string reason = nameless ? frame.reason : std::string(kAmbiguous);
        const Key key{group.pid, group.process, reason};
        Complaint& complaint = complaints[key];
        complaint.frames += entry.samples;
        if (leaf) {
          complaint.leaf_samples += entry.samples;
          (nameless ? result.unnamed_leaves : result.ambiguous_leaves) += entry.samples;
        }
        // JIT code in no file has only the name that perf gives it: no file to look at.
        const std::string& about = nameless ? frame.dso_path : frame.candidates;
        if (!nameless || frame.dso != "[jit]") {
          examples[key].count(about, leaf ? entry.samples : 0, entry.samples);
        }
      }
      leaf = false;
    }
  }
  std::unordered_map<uint32_t, Runtime> runtimes;
  for (const auto& weak : session.processes().lives()) {
    const auto life = weak.lock();
    if (life == nullptr) continue;
    if (life->runtime != Runtime::unknown) runtimes[life->pid] = life->runtime;
    if (life->sources == nullptr) continue;
    for (const JitSources::Finding& finding : life->sources->findings()) {
      // "No perf map" is news only where something lacks a name.
      const bool missed = std::ranges::any_of(
          complaints, [&](const auto& each) { return std::get<0>(each.first) == life->pid; });
      if (finding.used || missed) {
        result.sources.push_back({life->pid, life->comm, finding.used, finding.text});
      }
    }
  }
  for (auto& [key, complaint] : complaints) {
    complaint.pid = std::get<0>(key);
    complaint.process = std::get<1>(key);
    complaint.reason = std::get<2>(key);
    complaint.example = examples[key].most();
    const auto runtime = runtimes.find(complaint.pid);
    complaint.advice = advice_for(complaint.reason,
                                  runtime == runtimes.end() ? Runtime::unknown : runtime->second);
    result.complaints.push_back(std::move(complaint));
  }
  std::ranges::stable_sort(result.complaints, [](const Complaint& a, const Complaint& b) {
    return std::tie(a.leaf_samples, a.frames) > std::tie(b.leaf_samples, b.frames);
  });
  for (const Group& group : profile.groups) {
    const auto runtime = runtimes.find(group.pid);
    if (runtime != runtimes.end() && runtime->second == Runtime::hotspot) {
      stacks[group.process].hotspot = true;
    }
  }
  if (std::string unread = unread_stacks(session.header()); !unread.empty()) {
    result.notes.push_back(std::move(unread));
  } else {
    note_stacks(stacks, any_caller, result);
  }
  if (!session.facts().monotonic()) {
    result.notes.emplace_back(
        "the recording's clock is not CLOCK_MONOTONIC: jitdumps are used without times; record "
        "with perf record -k mono, or with jitscope record");
  }
  if (result.lost != 0) {
    result.notes.push_back(fmt::format(
        "{} events were lost while recording: a larger buffer (perf record -m) or a lower "
        "frequency (-F) helps",
        result.lost));
  }
  for (const Diagnostics::Entry& entry : session.diagnostics().entries()) {
    result.notes.push_back(to_string(entry));
  }
  for (const std::string& note : session.sources().notes) result.notes.push_back(note);
  return result;
}

}  // namespace jitscope
