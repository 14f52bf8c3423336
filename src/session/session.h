// Session: one pass over a recording, in the order of time: every sample with its stack resolved.
//
// Memory grows with the number of distinct addresses and processes, not with that of samples. Speed
// comes from what samples have in common: a stack shares its root side with the one before of the
// same thread; the answer for an address is kept (AddressCache), and a new address mostly lies in
// code that is known (CodeSpans).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/meter.h"
#include "base/stable_vector.h"
#include "formats/perfdata/reader.h"
#include "naming/jit_sources.h"
#include "naming/resolver.h"
#include "replay/naming_options.h"
#include "replay/processes.h"
#include "replay/recording_facts.h"
#include "session/answer_cache.h"
#include "session/resolved_sample.h"
#include "session/sample_batch.h"
#include "session/sample_filter.h"

namespace jitscope {

struct SessionOptions {
  NamingOptions naming;
  bool leaf_only = false;  // no stacks
  FilterOptions filter;    // what samples consumers get; records are all taken in
  // For those who write the recording again: its attributes and features as bytes (Header), and
  // its dumps can be read again (LoadedDump::file).
  bool keep_raw = false;
  // At most so many threads at work at a time (pipeline.h): a file is read in one, its samples are
  // resolved in another. 1, or a pipe: all in the caller's.
  unsigned cores = 1;
  Meter* meter = nullptr;  // gets how far the reading is; may be null
};

class Session : private perfdata::Handler {
 public:
  // `path` "-" is standard input.
  static Result<std::unique_ptr<Session>> open(const std::string& path,
                                               const SessionOptions& options);
  ~Session() override;
  // For a process that ends with its sessions: their tables, a hundred thousand pieces of memory,
  // are not taken apart first.
  static void leave_tables() { leave_tables_ = true; }

  // Each sample with its stack resolved; a location for each address.
  Status run(SampleConsumer& consumer);
  // The same for those who do not tell addresses of a function apart: all may be one location, with
  // an ip of 0, which is faster.
  Status run_by_code(SampleConsumer& consumer);
  // Samples and records as they are. The consumer's error, or that of the reading.
  Status scan(RecordConsumer& consumer);

  [[nodiscard]] const perfdata::Header& header() const { return reader_->header(); }
  [[nodiscard]] const RecordingFacts& facts() const { return *facts_; }
  [[nodiscard]] Resolver& resolver() { return *resolver_; }
  [[nodiscard]] const Resolver& resolver() const { return *resolver_; }
  [[nodiscard]] MappedFiles& files() { return *files_; }
  [[nodiscard]] const MappedFiles& files() const { return *files_; }
  [[nodiscard]] Processes& processes() { return *processes_; }
  [[nodiscard]] const SourceContext& sources() const { return *context_; }
  [[nodiscard]] Location location(LocationId id) const {
    if (!addresses_) return spans_[id].at(0);
    return spans_[places_[id].span].at(places_[id].ip);
  }
  // The code that a location lies in; the limits are of the last answer. Valid until the next
  // sample.
  [[nodiscard]] const CodeSpan& span(LocationId id) const {
    return spans_[addresses_ ? places_[id].span : id];
  }
  // Any address of the thread's process. Only while a consumer's on_sample() runs.
  LocationId locate(ThreadState& thread, uint64_t ip, bool caller, uint64_t time);
  [[nodiscard]] size_t location_count() const {
    return addresses_ ? places_.size() : spans_.size();
  }
  [[nodiscard]] const Diagnostics& diagnostics() const { return reader_->diagnostics(); }
  // Those that consumers got.
  [[nodiscard]] uint64_t samples() const { return samples_ - left_out(); }
  // By SessionOptions::filter.
  [[nodiscard]] uint64_t left_out() const { return filter_.left_out() + leaves_left_out_; }
  [[nodiscard]] const SampleFilter& filter() const { return filter_; }
  [[nodiscard]] uint64_t lost() const { return lost_; }
  [[nodiscard]] uint64_t first_time() const { return first_time_; }
  [[nodiscard]] uint64_t last_time() const { return last_time_; }

 private:
  Session() = default;
  Status prepare(const std::string& path);
  Status read();
  std::optional<Status> read_in_threads();
  bool deliver(const perfdata::Sample& sample, ThreadState& thread, size_t shared, bool callchain);
  bool on_sample(const perfdata::Sample& sample) override;
  bool on_record(const perfdata::Record& record) override;
  void prepare_caches(ProcessLife& life);
  AnswerCache& cache_of(ProcessLife& life, perfdata::CpuMode mode);
  uint32_t span_of(CodeSpans& known, ProcessLife& life, const AddressQuery& query);
  LocationId locate(ThreadState& thread, const AddressQuery& query);
  LocationId new_place(uint64_t ip, uint32_t span);
  void resolve_fresh(ThreadState& thread, const perfdata::Sample& sample, size_t shared);
  void resolve_run(ThreadState& thread, AddressQuery& query, std::span<const uint64_t> run,
                   LocationId*& out);
  size_t resolve_stack(ThreadState& thread, const perfdata::Sample& sample);
  void resolve_leaf(ThreadState& thread, const perfdata::Sample& sample);

  static inline bool leave_tables_ = false;
  SessionOptions options_;
  SampleFilter filter_;
  uint64_t leaves_left_out_ = 0;
  std::unique_ptr<perfdata::Reader> reader_;
  std::unique_ptr<RecordingFacts> facts_;
  std::unique_ptr<MappedFiles> files_;
  std::unique_ptr<Processes> processes_;
  std::unique_ptr<SourceSearch> search_;
  std::unique_ptr<DumpCache> dumps_;
  std::unique_ptr<SourceContext> context_;
  std::unique_ptr<Resolver> resolver_;
  // Locations are places when the consumer wants addresses, else spans.
  struct Place {
    uint64_t ip = 0;
    uint32_t span = 0;
  };
  bool addresses_ = true;
  StableVector<CodeSpan> spans_;
  StableVector<Place> places_;
  // What follows is written for each sample; what stands before is read by consumers, perhaps in
  // another thread: not in one cache line.
  // Of the present stack.
  struct Unknown {
    uint64_t ip = 0;
    LocationId* place = nullptr;
    bool caller = false;
  };
  alignas(64) std::vector<Unknown> unknown_;
  std::array<AnswerCache, 6> others_;  // by mode: code that is no process's own
  uint32_t kernel_generation_ = 0;
  // The present sample is older than one before. For others an answer that held once holds unless
  // it expires, so that nobody needs to ask since when.
  bool late_ = false;
  // One of them.
  SampleConsumer* consumer_ = nullptr;
  SampleBatch* batch_ = nullptr;  // for a consumer in another thread
  RecordConsumer* scanner_ = nullptr;
  Status scanned_;
  uint32_t sampled_threads_ = 0;
  uint64_t samples_ = 0;
  uint64_t lost_ = 0;
  uint64_t first_time_ = 0;
  uint64_t last_time_ = 0;
};

}  // namespace jitscope
