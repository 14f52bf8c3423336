// Pipeline: reads a recording in one thread, resolves its samples in another, and takes them in in
// the caller's, batch by batch. Order and results are those of one thread that does it all.
//
// A fixed number of batches goes round, which bounds memory; each belongs to one thread at a time.
// Signals go to the caller's thread alone, whose writes they have to end.
#pragma once

#include <functional>
#include <optional>

#include "base/result.h"
#include "formats/perfdata/batch.h"
#include "session/sample_batch.h"

namespace jitscope {

struct PipelineSteps {
  // Reads all into the sink.
  std::function<Status(perfdata::BatchSink&)> read;
  // False: no more is wanted. Without it, two threads do.
  std::function<bool(SampleBatch&)> resolve;
  std::function<bool(SampleBatch&)> take_in;
};

// `cores`: at most so many steps are at work at a time; two or more. What read() returned; nothing
// when threads cannot be had, and then nothing was read.
std::optional<Status> run_pipeline(const PipelineSteps& steps, unsigned cores);

}  // namespace jitscope
