#include "doctor/doctor.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "doctor/advice.h"
#include "naming/pe_images.h"
#include "runtimes/all_runtimes.h"

namespace jitscope {
namespace {

// pid, process, reason: by its text, so that the order is users' own.
using Key = std::tuple<uint32_t, std::string, std::string_view, NoName>;

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
  std::string_view frame_pointer_option;  // of its runtime
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
      result.notes.push_back(
          fmt::format("{}: {:.0f} % of the samples of its code have no caller: {}", process,
                      share(stacks.callerless, stacks.user),
                      !stacks.frame_pointer_option.empty()
                          ? stacks.frame_pointer_option
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
        const NoName reason =
            nameless || frame.no_name != NoName::none ? frame.no_name : NoName::ambiguous;
        const Key key{group.pid, group.process, to_string(reason), reason};
        Complaint& complaint = complaints[key];
        complaint.frames += entry.samples;
        if (leaf) {
          complaint.leaf_samples += entry.samples;
          (nameless ? result.unnamed_leaves : result.ambiguous_leaves) += entry.samples;
        }
        // JIT code in no file has only the name that perf gives it: no file to look at.
        const std::string& about = nameless ? frame.dso_path : frame.candidates;
        if (!nameless || frame.place != FramePlace::memory) {
          examples[key].count(about, leaf ? entry.samples : 0, entry.samples);
        }
      }
      leaf = false;
    }
  }
  std::unordered_map<uint32_t, Runtime> runtimes;
  std::unordered_map<uint32_t, RuntimeKind> kinds;
  for (const auto& weak : session.processes().lives()) {
    const auto life = weak.lock();
    if (life == nullptr) continue;
    if (life->runtime != Runtime::unknown) runtimes[life->pid] = life->runtime;
    if (!life->kind.name().empty()) kinds[life->pid] = life->kind;
  }
  std::unordered_set<uint32_t> complained;
  for (const auto& [key, complaint] : complaints) complained.insert(std::get<0>(key));
  for (const auto& life : session.sources().findings) {
    if (life->runtime != Runtime::unknown) runtimes[life->pid] = life->runtime;
    if (!life->kind.name().empty()) kinds[life->pid] = life->kind;
    // "No perf map" is news only where something lacks a name.
    const bool missed = complained.contains(life->pid);
    for (const LifeFindings::Finding& finding : life->list) {
      if (!finding.used && !missed) continue;
      result.sources.push_back({life->pid, life->comm, finding.used, finding.text});
    }
  }
  for (PeStory& story : session.resolver().images()) {
    result.images.push_back(
        {std::move(story.path), std::move(story.names), std::move(story.advice)});
  }
  for (auto& [key, complaint] : complaints) {
    complaint.pid = std::get<0>(key);
    complaint.process = std::get<1>(key);
    complaint.reason = std::get<NoName>(key);
    complaint.example = examples[key].most();
    const auto runtime = runtimes.find(complaint.pid);
    Program program(runtime == runtimes.end() ? Runtime::unknown : runtime->second);
    if (const auto kind = kinds.find(complaint.pid); kind != kinds.end()) {
      program.kind = kind->second;
    }
    program.names_missing = session.facts().names_are_missing();
    program.followed = !session.facts().names_folder().empty();
    complaint.advice = advice_for(complaint.reason, program);
    result.complaints.push_back(std::move(complaint));
  }
  std::ranges::stable_sort(result.complaints, [](const Complaint& a, const Complaint& b) {
    return std::tie(a.leaf_samples, a.frames) > std::tie(b.leaf_samples, b.frames);
  });
  for (const Group& group : profile.groups) {
    const auto runtime = runtimes.find(group.pid);
    if (runtime == runtimes.end()) continue;
    const std::string_view option = row_of(runtime->second).frame_pointer_option;
    if (!option.empty()) stacks[group.process].frame_pointer_option = option;
  }
  if (std::string unread = unread_stacks(session.header()); !unread.empty()) {
    result.notes.push_back(std::move(unread));
  } else {
    note_stacks(stacks, any_caller, result);
  }
  if (session.facts().names_are_missing()) {
    result.notes.push_back(fmt::format(
        "the folder {}, in which jitscope record left names of JIT code, is missing: put "
        "it beside the recording, under its name",
        session.facts().names_folder()));
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
