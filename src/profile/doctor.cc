#include "profile/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>

namespace jitscope {
namespace {

constexpr std::string_view kAmbiguous =
    "ambiguous: bodies of other names lay at the address, and nothing tells when";

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
      return "start it with opcache.jit_debug=0x30";
    case Runtime::mono:
      return "start it with --jitdump or --jitmap";
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
    Advice{"JIT code without a map or dump", ""},
    Advice{"the JIT's map or dump was refused",
           "see the sources below: the refusal says why; --force accepts it"},
    Advice{"no body of the process's jitdump lay there at that time",
           "the dump was started late or was cut: record from the start of the process; a perf map "
           "beside the dump is used too"},
    Advice{"no line of the process's perf map holds the address",
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
    Advice{"no mapping of the process holds the address",
           "the stack walk went astray (code without frame pointers), or the process called exec; "
           "HotSpot: -XX:+PreserveFramePointer"},
    Advice{"the ELF file has no symbols (stripped)",
           "install the package's debug symbols (-dbgsym), or set DEBUGINFOD_URLS and use "
           "--debuginfod"},
    Advice{"stripped ELF file: only exported symbols are known",
           "install the package's debug symbols (-dbgsym), or set DEBUGINFOD_URLS and use "
           "--debuginfod"},
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
    return std::string(advice.text.empty() ? runtime_switch(runtime) : advice.text);
  }
  return {};
}

Diagnosis diagnose(Session& session, const Profile& profile) {
  Diagnosis result;
  result.samples = profile.samples;
  result.lost = profile.lost;
  // Frames on the way from the root to each node that have a complaint: a few distinct ones.
  std::map<Key, Complaint> complaints;
  for (const StackWeight& entry : profile.stacks) {
    const Group& group = profile.groups[entry.group];
    bool leaf = true;
    for (StackId node = entry.stack; node != kRootStack; node = profile.nodes[node].parent) {
      const Frame& frame = profile.frames[profile.nodes[node].frame];
      result.frames += entry.samples;
      const bool nameless = frame.method.empty();
      if (!nameless) result.named_frames += entry.samples;
      if (nameless || frame.ambiguous) {
        const std::string reason = nameless ? frame.reason : std::string(kAmbiguous);
        Complaint& complaint = complaints[{group.pid, group.process, reason}];
        complaint.frames += entry.samples;
        if (leaf) {
          complaint.leaf_samples += entry.samples;
          (nameless ? result.unnamed_leaves : result.ambiguous_leaves) += entry.samples;
        }
        if (complaint.example.empty()) {
          complaint.example = nameless ? frame.dso_path : frame.candidates;
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
    const auto runtime = runtimes.find(complaint.pid);
    complaint.advice = advice_for(complaint.reason,
                                  runtime == runtimes.end() ? Runtime::unknown : runtime->second);
    result.complaints.push_back(std::move(complaint));
  }
  std::ranges::stable_sort(result.complaints, [](const Complaint& a, const Complaint& b) {
    return std::tie(a.leaf_samples, a.frames) > std::tie(b.leaf_samples, b.frames);
  });
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
    result.notes.push_back(fmt::format("{}x {} (first: {})", entry.count, entry.kind, entry.first));
  }
  for (const std::string& note : session.sources().notes) result.notes.push_back(note);
  return result;
}

}  // namespace jitscope
