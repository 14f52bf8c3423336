// RecordingWriter: the recording that `inject` writes: records in the order in which they were
// read, with mappings before samples, some of whose fields are filled in at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/perfdata/writer.h"
#include "inject/output.h"
#include "inject/round.h"
#include "session/session.h"

namespace jitscope {

// A mapping whose place in its image is not known before all is read.
struct MappingPatch {
  enum class Kind : uint8_t { code, anchor, tables };
  uint64_t offset = 0;  // of the record in the output, or in its part of the present round
  uint64_t delta = 0;   // from the start of the body
  uint32_t number = 0;  // of the code or the image
  Kind kind = Kind::code;
  bool front = false;
};

class RecordingWriter {
 public:
  RecordingWriter(const Session& session, InjectOutput& output)
      : session_(session), output_(output), writer_(output) {}

  [[nodiscard]] bool begun() const { return begun_; }
  // Attributes, as far as they are known, then what was held.
  Status begin();
  // A record that comes before all attributes are known.
  void hold(std::span<const std::byte> bytes);
  Status write(std::span<const std::byte> bytes, const perfdata::RecordHead& head);
  // Before each record that has a time. What was read out of order comes in that order again: perf
  // would sort it by time, and mappings that were added before it for others would lie behind it.
  Status keep_order(const perfdata::RecordHead& head);
  // Before the sample, in the maps of its process. `patch` may be null.
  Status add_mapping(const perfdata::Sample& sample, perfdata::Mmap mmap,
                     const MappingPatch* patch);
  [[nodiscard]] uint64_t mappings() const { return mappings_; }

  // When all records are written: attributes that came late.
  Status end_records();
  // `fill` gets as much of each record as has the places of mappings (up to kMmapOffset's end).
  using Fill = std::function<void(const MappingPatch&, std::span<std::byte>)>;
  Status fill_in(const Fill& fill);
  // Those of the input that hold for the output; its build-ids and these.
  void set_features(const std::string& more_build_ids);
  Status finish() { return writer_.finish(); }

 private:
  [[nodiscard]] std::vector<perfdata::Attribute> attributes(size_t from) const;
  Status end_round();

  const Session& session_;
  InjectOutput& output_;
  perfdata::Writer writer_;
  bool begun_ = false;
  size_t attributes_ = 0;  // written
  size_t attr_bytes_ = 0;
  std::string held_;
  InjectRound round_;
  uint64_t newest_ = 0;  // time of what perf may still hold back when it reads the next record
  std::string out_;      // the record that is being made
  uint64_t mappings_ = 0;
  std::vector<MappingPatch> patches_;
  size_t patches_written_ = 0;  // that are of rounds which are written
};

}  // namespace jitscope
