// Collector: adds up the samples of a session by stack (profile.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/growing_array.h"
#include "base/pair_table.h"
#include "profile/profile.h"
#include "profile/stack_tree.h"
#include "session/session.h"

namespace jitscope {

struct CollectOptions {
  bool timeline = false;  // keep every sample with its time
  bool by_cpu = false;    // groups are of one CPU too
};

class Collector : public SampleConsumer {
 public:
  Collector(Session& session, const CollectOptions& options)
      : session_(session), options_(options) {}

  bool on_sample(const ResolvedSample& sample) override;
  // The result; the session's frames go with it. Once, after the reading.
  Profile take();

 private:
  struct Pending {
    size_t begin = 0;  // of its frames below `start`
    size_t end = 0;
    StackId start = kRootStack;
    uint32_t slot = 0;   // of the thread
    uint32_t depth = 0;  // of `start`
    uint32_t key = 0;    // group and event
    uint64_t weight = 0;
    uint64_t time = 0;
    uint32_t cpu = 0;
  };
  // The nodes of a thread's stack as of the last flush, the outermost first, and how many of them
  // are those of its last sample too. What is shared need not be walked again.
  struct Last {
    std::vector<StackId> path;
    size_t valid = 0;
    bool plain = true;   // its last sample has a frame for each location
    bool taken = false;  // by a sample of the present flush
  };
  // Samples of one stack in one group, of one event. Those of a stack are a list; what is beyond so
  // many is found by hash.
  static constexpr unsigned kMostLooks = 8;
  struct Weight {
    uint32_t key = 0;
    StackId stack = kRootStack;
    uint32_t next = 0;  // of the same stack: its place and one, or 0
    uint64_t samples = 0;
    uint64_t weight = 0;
  };
  uint32_t group_of(SampledThread& thread);
  uint32_t group_of_cpu(uint32_t group, uint32_t cpu);
  Last& last_of(const SampledThread& thread);
  // False when there were inlined frames: they are more than the locations.
  bool append_frames(std::span<const LocationId> stack);
  void append_inlined(const Location& location);
  void add_weights();
  uint32_t weight_number(StackId stack, uint32_t key);
  void flush();

  Session& session_;
  CollectOptions options_;
  Profile profile_;
  std::map<std::tuple<uint32_t, uint32_t, std::string>, uint32_t> groups_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> cpu_groups_;  // (group, CPU) -> group
  StackTree tree_;
  GrowingArray<Weight> weights_;      // in the order of their first samples
  GrowingArray<uint32_t> weight_of_;  // by stack: its first in weights_, and one; or 0
  PairTable far_weights_;             // (stack, key) -> index
  std::vector<Last> last_;            // by SampledThread::slot
  std::vector<FrameId> frame_of_;     // by location; kUnknown or kInlined
  std::vector<FrameId> frames_;       // of the pending samples, root first
  std::vector<Pending> pending_;
  std::vector<StackTree::Walk> walks_;
};

// The weight of a sample: its period, or what the event counts by.
[[nodiscard]] uint64_t weight_of(const perfdata::Sample& sample, const perfdata::Header& header);
// Everything of a profile but samples and frames: events, times, command.
void describe(Profile& profile, const Session& session);

}  // namespace jitscope
