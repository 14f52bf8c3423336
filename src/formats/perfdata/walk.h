// The walk through a recording: bytes to records, records into their order, and out to a handler.
//
// Of a record that waits only its time is read; it is parsed when its turn comes, in place. See
// reader.h for the order.
#pragma once

#include <cstdint>
#include <optional>

#include "base/diagnostics.h"
#include "base/result.h"
#include "formats/perfdata/batch.h"
#include "formats/perfdata/chunk.h"
#include "formats/perfdata/decoder.h"
#include "formats/perfdata/event_table.h"
#include "formats/perfdata/features.h"
#include "formats/perfdata/inflate.h"
#include "formats/perfdata/input.h"
#include "formats/perfdata/lane.h"
#include "formats/perfdata/order_queue.h"
#include "formats/perfdata/reader.h"

namespace jitscope::perfdata {

class Walk {
 public:
  Walk(const ReadOptions& options, Header& header, EventTable& events, Gatherer& gatherer,
       Diagnostics& diagnostics);

  // From the input's position to `end` of it, or as far as it goes, or the handler wants.
  Status run(Input& input, uint64_t end, Handler& handler);
  // The same for a reader in another thread. Not for a pipe: its header is only read on the way.
  Status run(Input& input, uint64_t end, BatchSink& sink);

 private:
  Status run(Input& input, uint64_t end);
  Status read_chunks(Input& input, uint64_t end);
  // Takes all whole records of a lane. False: nothing after them can be read.
  Result<bool> drain(Lane& lane);
  Status take(const RawRecord& raw, Lane& lane);
  // Records that perf itself wrote, types 64 and up: they mean something at their place.
  Status take_user_record(const RawRecord& raw, Lane& lane);
  Status unpack(const RawRecord& raw);

  void enqueue(const RawRecord& raw);
  [[nodiscard]] std::optional<uint64_t> time_of(const RawRecord& raw);
  void end_round();
  void keep_within_limits();
  void hand_out_first();
  void hand_out(const RawRecord& raw);
  // Before the header changes, which readers in other threads may look at. False: it must not.
  bool may_change_header();

  Header* header_;
  EventTable* events_;
  Gatherer* gatherer_;
  Diagnostics* diagnostics_;
  // One of them.
  Handler* handler_ = nullptr;
  Batcher* batcher_ = nullptr;
  Decoder decoder_;
  bool in_order_;
  bool keep_raw_;
  uint64_t max_waiting_;

  ChunkPool pool_;
  Lane outer_;
  Lane inner_;  // what compressed records unpack to
  Inflater inflater_;
  OrderQueue queue_;
  bool stopped_ = false;

  size_t header_changes_ = 0;  // by records
  uint64_t sequence_ = 0;
  uint64_t latest_ = 0;       // time of any record so far
  uint64_t round_limit_ = 0;  // of `latest_`, when the last round ended
  uint64_t handed_out_ = 0;   // time of the latest record handed out
  uint64_t place_ = 0;        // time by which the record before this one was queued
};

}  // namespace jitscope::perfdata
