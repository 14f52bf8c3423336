// Injector: takes a recording in the order of time and has it written again, with a mapping before
// each sample for which perf would see something else than the body that lay there (inject.h).
// SampleChecker finds those, PerfViewMender mends them, RecordingWriter writes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "inject/checker.h"
#include "inject/images.h"
#include "inject/inject.h"
#include "inject/mender.h"
#include "inject/output.h"
#include "inject/plan.h"
#include "inject/recording_writer.h"
#include "inject/view.h"
#include "session/session.h"

namespace jitscope {

class Injector final : public RecordConsumer {
 public:
  Injector(Session& session, InjectOutput& output, const InjectOptions& options);

  Status on_sample(const UnresolvedSample& sample) override;
  void before_record(const perfdata::Record& record) override;
  Status on_record(const perfdata::Record& record) override;

  // When all is read: images, places, features.
  Result<InjectSummary> finish();

 private:
  Status begin();
  Status write_mmap(const perfdata::Record& record, const perfdata::Mmap& mmap);
  void fill_in(const MappingPatch& patch, std::span<std::byte> record,
               const std::vector<WrittenImage>& images) const;
  void tell(const std::vector<WrittenImage>& images);

  Session& session_;
  const InjectOptions& options_;
  InjectPlan plan_;
  PerfViews views_;
  RecordingWriter writer_;
  PerfViewMender mender_;
  SampleChecker checker_;
  // Of the present MMAP record: what of it is new, (start, end); all of it when whole_.
  std::vector<std::pair<uint64_t, uint64_t>> fresh_;
  bool whole_ = true;
  std::string out_;  // the record that is being made
  InjectSummary summary_;
};

}  // namespace jitscope
