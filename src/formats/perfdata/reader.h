// Reads a perf.data file or pipe and hands its records out in the order of time.
//
// Order: records wait in memory until a FINISHED_ROUND says that nothing older can come (round N
// may overlap N+1 but not N+2), then leave sorted by (time, offset); without rounds, or when what
// waits grows beyond `max_waiting_bytes`, the oldest half leaves and a later record that is older
// than one already handed out is counted in diagnostics() ("record out of order") and handed out
// at once. Records without a time keep their place. Memory is bounded by that, whatever size fields
// say. MMAP, COMM and the like of time 0 (synthesised) come first.
//
// A truncated file gives what it holds, and a note in diagnostics() ("perf.data cut short"); so do
// damaged records, each kind with its own note. FINISHED_ROUND, attributes and features are handed
// out too (as Other), at their place; compressed records are not, what they hold is. Errors:
// damaged (no perf.data, attributes that make no sense), not_possible (big endian, an unknown
// compression) with a hint.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/diagnostics.h"
#include "base/meter.h"
#include "base/result.h"
#include "formats/perfdata/records.h"

namespace jitscope::perfdata {

// One perf_event_attr as far as it matters, with the ids of its events.
struct EventInfo {
  std::string name;  // "cycles", "cpu-clock:u"; made from type and config where nobody says
  uint32_t type = 0;
  uint64_t config = 0;
  uint64_t sample_type = 0;
  uint64_t read_format = 0;
  uint64_t sample_period = 0;  // or frequency
  bool frequency = false;
  bool sample_id_all = false;
  bool use_clockid = false;
  int32_t clockid = 0;
  uint64_t user_regs_mask = 0;
  uint64_t branch_sample_type = 0;
  uint64_t intr_regs_mask = 0;
  std::vector<uint64_t> ids;
  std::vector<std::byte> raw;  // the attribute as stored; only with ReadOptions::keep_raw
};

struct BuildIdEntry {
  int32_t pid = 0;
  bool kernel = false;
  std::vector<std::byte> id;
  std::string path;
};

struct Header {
  bool pipe = false;
  std::vector<EventInfo> events;  // grows while a pipe is read
  std::vector<BuildIdEntry> build_ids;
  std::string hostname;
  std::string os_release;
  std::string version;
  std::string arch;
  uint32_t cpus_available = 0;  // 0: not told
  uint32_t cpus_online = 0;
  std::string cpu_description;
  std::string cpu_id;
  uint64_t total_memory = 0;  // kB
  std::vector<std::string> command_line;
  uint64_t clockid_resolution = 0;
  // CLOCK_DATA: one moment read from both clocks, nanoseconds.
  struct ClockPair {
    uint32_t clockid = 0;
    uint64_t wall = 0;   // CLOCK_REALTIME
    uint64_t clock = 0;  // clockid
  };
  std::optional<ClockPair> clock_pair;
  // TIME_CONV record: arch timestamps (TSC) to perf time.
  struct TimeConversion {
    uint64_t shift = 0;
    uint64_t multiplier = 0;
    uint64_t zero = 0;
    uint64_t cycles = 0;
    uint64_t mask = 0;
    bool capable_short = false;
  };
  std::optional<TimeConversion> time_conversion;
  std::optional<uint64_t> first_sample_time;  // SAMPLE_TIME feature
  std::optional<uint64_t> last_sample_time;
  // TRACING_DATA, the section or the record: how tracepoints' payloads lie (trace_format.h). Not
  // with keep_raw, which has it in raw_features.
  std::vector<std::byte> tracing_data;
  // All feature sections as they are, by bit; only with ReadOptions::keep_raw. Of a pipe: what came
  // as HEADER_FEATURE and TRACING_DATA records.
  std::map<uint8_t, std::vector<std::byte>> raw_features;
  // CLOCK_MONOTONIC (1), CLOCK_MONOTONIC_RAW (4), ...; -1: perf's own clock (sched_clock).
  [[nodiscard]] int clock() const;
};

class BatchSink;
class Decoder;

class Handler {
 public:
  virtual ~Handler() = default;
  // In the order of time. Return false to stop reading (not an error).
  virtual bool on_sample(const Sample& sample) = 0;
  virtual bool on_record(const Record& record) = 0;
};

struct ReadOptions {
  uint64_t max_waiting_bytes = 256U << 20U;
  // False: no sorting, records in file order (dumping, tests).
  bool in_order = true;
  // True: attributes and features are kept as bytes too, for those who write them again.
  bool keep_raw = false;
  // Gets what was read so far; may be null.
  Meter* meter = nullptr;
};

class Reader {
 public:
  static Result<std::unique_ptr<Reader>> open(std::unique_ptr<ByteSource> source,
                                              const ReadOptions& options = {});
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Attributes, features: complete after open() for a file, during read() for a pipe.
  [[nodiscard]] const Header& header() const;
  // Reads to the end, or until the handler stops. Once.
  Status read(Handler& handler);
  // The same in batches, for handlers in other threads (batch.h). Only where batches_fit().
  Status read(BatchSink& sink);
  // A file, not a pipe.
  [[nodiscard]] bool batches_fit() const;
  // For the records of a batch.
  [[nodiscard]] std::unique_ptr<Decoder> decoder(Diagnostics& diagnostics) const;
  [[nodiscard]] const Diagnostics& diagnostics() const;
  // What a decoder noted.
  void take_notes(const Diagnostics& notes);

 private:
  struct State;
  explicit Reader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace jitscope::perfdata
