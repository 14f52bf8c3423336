// What a session gives to those who take in its samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "formats/perfdata/records.h"
#include "replay/processes.h"

namespace jitscope {

using LocationId = uint32_t;

struct ResolvedSample {
  const perfdata::Sample& sample;
  SampledThread& thread;
  std::span<const LocationId> stack;  // root first; the last is the leaf
  // How many of them, from the root, are those of the thread's sample before.
  size_t shared = 0;
  bool callchain = false;  // the event records stacks
};

// Of a session it may ask for locations, for what they refer to by number (frames, mapped files,
// inlined frames) and for the header: samples may be resolved in another thread meanwhile
// (SessionOptions::cores).
class SampleConsumer {
 public:
  virtual ~SampleConsumer() = default;
  // False ends the reading.
  virtual bool on_sample(const ResolvedSample& sample) = 0;
};

struct UnresolvedSample {
  const perfdata::Sample& sample;
  ThreadState& thread;
};

// For those who look at everything in a recording, and ask for few addresses of it
// (Session::locate()). An error ends the reading.
class RecordConsumer {
 public:
  virtual ~RecordConsumer() = default;
  virtual Status on_sample(const UnresolvedSample& sample) = 0;
  // Anything else, before the session takes it in.
  virtual void before_record(const perfdata::Record& /*record*/) {}
  // And after it.
  virtual Status on_record(const perfdata::Record& record) = 0;
};

}  // namespace jitscope
