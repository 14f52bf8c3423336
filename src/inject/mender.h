// PerfViewMender: changes what perf will see at an address: shows a body of ours there, or what was
// there before, by a mapping in front of the sample that asks for it.
#pragma once

#include <cstdint>
#include <vector>

#include "inject/images.h"
#include "inject/output.h"
#include "inject/plan.h"
#include "inject/recording_writer.h"
#include "inject/settled.h"
#include "inject/view.h"
#include "session/session.h"

namespace jitscope {

// The sample that is being looked at, with what perf sees and what is settled of its process.
struct InjectSample {
  const UnresolvedSample& sample;
  PerfView& view;
  SettledCode& settled;
  bool late = false;        // it is older than one before: nothing is settled for it, or by it
  bool narrow = false;      // what is shown for one address has hidden another
  bool all_settled = true;  // of what was looked at
};

class PerfViewMender {
 public:
  PerfViewMender(const Session& session, InjectOutput& output, RecordingWriter& writer,
                 InjectPlan& plan)
      : session_(session), output_(output), writer_(writer), plan_(plan) {}

  // Our code at the location, which is of that body.
  Status show(InjectSample& at, LocationId id, uint32_t code);
  // No name is better than a wrong one: what was there before is there again.
  Status hide(InjectSample& at, LocationId id);
  // The file of an image of the plan, made when first asked for.
  Result<const InjectImageFile*> image_file(uint32_t image, const ProcessLife& life);
  [[nodiscard]] std::vector<InjectImageFile>& files() { return files_; }

 private:
  Status add_tables(InjectSample& at, uint32_t image);

  const Session& session_;
  InjectOutput& output_;
  RecordingWriter& writer_;
  InjectPlan& plan_;
  std::vector<InjectImageFile> files_;  // by image
};

}  // namespace jitscope
