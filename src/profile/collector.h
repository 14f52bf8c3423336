// Collector: adds up the samples of a session by stack (profile.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/pair_table.h"
#include "profile/profile.h"
#include "profile/session.h"
#include "profile/stack_tree.h"

namespace jitscope {

struct CollectOptions {
  bool timeline = false;  // keep every sample with its time
};

class Collector : public SampleConsumer {
 public:
  Collector(Session& session, const CollectOptions& options)
      : session_(session), options_(options) {}

  bool on_sample(const ResolvedSample& sample) override;
  [[nodiscard]] bool wants_addresses() const override { return false; }
  // The result; the session's frames go with it. Once, after the reading.
  Profile take();

 private:
  struct Pending {
    size_t begin = 0;  // of its frames
    size_t end = 0;
    uint32_t key = 0;  // group and event
    uint64_t weight = 0;
    uint64_t time = 0;
    uint32_t cpu = 0;
  };
  uint32_t group_of(ThreadState& thread);
  void append_frames(LocationId location);
  void flush();

  Session& session_;
  CollectOptions options_;
  Profile profile_;
  std::map<std::tuple<uint32_t, uint32_t, std::string>, uint32_t> groups_;
  StackTree tree_;
  PairTable weights_;  // (node, group and event) -> index in profile_.stacks
  std::vector<FrameId> frame_of_;  // by location; kUnknown or kInlined
  std::vector<FrameId> frames_;    // of the pending samples, root first
  std::vector<Pending> pending_;
  std::vector<StackTree::Walk> walks_;
};

// The weight of a sample: its period, or what the event counts by.
[[nodiscard]] uint64_t weight_of(const perfdata::Sample& sample, const perfdata::Header& header);
// Everything of a profile but samples and frames: events, times, command.
void describe(Profile& profile, const Session& session);

}  // namespace jitscope
