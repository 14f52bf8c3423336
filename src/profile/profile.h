// Profile: samples added up by stack, ready to be shown. What render/ turns into folded stacks,
// flame graph pages, pprof, speedscope and Firefox Profiler files, and `report` into tables.
//
// Frames and stacks are numbered once and shared: a stack is a node in a tree whose parent is its
// caller. Weights are nanoseconds for clock events, counts of the event otherwise
// (sample periods).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "naming/frame.h"

namespace jitscope {

using StackId = uint32_t;
inline constexpr StackId kRootStack = 0;  // the empty stack

struct StackNode {
  StackId parent = kRootStack;  // the caller's; ids of parents are smaller than those of children
  FrameId frame = 0;
};

struct Group {  // samples of one thread of one process are summed together
  uint32_t pid = 0;
  uint32_t tid = 0;
  std::string comm;           // of the thread
  std::string process;        // comm of the process's main thread
  uint32_t cpu = UINT32_MAX;  // with CollectOptions::by_cpu, where samples say so
};

// One line of the result: this stack in this group for this event.
struct StackWeight {
  uint32_t event = 0;
  uint32_t group = 0;
  StackId stack = kRootStack;  // of the leaf
  uint64_t samples = 0;
  uint64_t weight = 0;  // sum of periods
};

struct EventName {
  std::string name;  // "cpu-clock"
  std::string unit;  // "nanoseconds" or "count"
};

// A single sample, kept only when asked for (formats with a time axis).
struct TimedSample {
  uint64_t time = 0;
  uint32_t group = 0;
  uint32_t event = 0;
  StackId stack = kRootStack;
  uint64_t weight = 0;
  uint32_t cpu = 0;
};

struct Profile {
  std::vector<EventName> events;
  std::vector<Frame> frames;
  std::vector<StackNode> nodes{StackNode{}};  // [0] is the empty stack
  std::vector<Group> groups;
  std::vector<StackWeight> stacks;
  std::vector<TimedSample> timeline;  // by time; empty unless asked for
  uint64_t samples = 0;
  uint64_t lost = 0;        // events that the recording says were lost
  uint64_t first_time = 0;  // nanoseconds
  uint64_t last_time = 0;
  std::string command;  // of the recording
  std::string hostname;

  // Frames of a stack, leaf first.
  [[nodiscard]] std::vector<FrameId> frames_of(StackId stack) const;
};

}  // namespace jitscope
