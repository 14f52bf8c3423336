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
  // The result; the session's frames go with it. Once, after the reading.
  Profile take();

 private:
  uint32_t group_of(ThreadState& thread);
  StackId node_of(StackId parent, LocationId location);

  Session& session_;
  CollectOptions options_;
  Profile profile_;
  std::map<std::tuple<uint32_t, uint32_t, std::string>, uint32_t> groups_;
  StackTree tree_;
  PairTable weights_;  // (node, group and event) -> index in profile_.stacks
};

}  // namespace jitscope
