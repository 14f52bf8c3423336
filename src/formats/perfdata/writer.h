// Writes a perf.data file (linux: tools/perf/Documentation/perf.data-file-format.txt, header.c):
// attributes with their event ids, records as they are, feature sections. Makes bytes and calls
// an output for them; no system calls.
//
// The data section's size in the header is kept up to date (checkpoint), so that a recording that
// is killed leaves a file that perf reads up to the last checkpoint: perf refuses a size of 0.
// Ids that become known while recording go behind the data at finish().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/perfdata/format.h"

namespace jitscope::perfdata {

// Where the bytes of the file go.
class FileOutput {
 public:
  virtual ~FileOutput() = default;
  // All of it, at the end.
  virtual Status append(std::span<const std::byte> bytes) = 0;
  // In place; lies within what was appended.
  virtual Status overwrite(uint64_t offset, std::span<const std::byte> bytes) = 0;
};

// A file in memory.
class MemoryOutput final : public FileOutput {
 public:
  Status append(std::span<const std::byte> bytes) override;
  Status overwrite(uint64_t offset, std::span<const std::byte> bytes) override;
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// A perf_event_attr as its bytes (the kernel's structure of whatever length), with the ids of the
// events that were opened with it.
struct Attribute {
  std::vector<std::byte> attr;
  std::vector<uint64_t> ids;
  std::string name;  // for event_descriptions
};

class Writer {
 public:
  explicit Writer(FileOutput& output) : output_(output) {}

  // The header and the attributes; all `attr` have the same length, at least 64 bytes, which
  // their own size field (bytes 4..8) says too. Once, first.
  Status begin(std::vector<Attribute> attributes);
  // Whole records, one after the other.
  Status records(std::span<const std::byte> bytes);
  Status records(std::string_view bytes) { return records(std::as_bytes(std::span(bytes))); }
  // All that comes after is younger than what came before the last round.
  Status finished_round();
  // What was written so far is there for a reader, whatever comes.
  Status checkpoint();
  // Attributes that became known after begin(); of the same length.
  Status add_attributes(std::vector<Attribute> attributes);
  // Ids of events that were opened after begin().
  void add_ids(size_t attribute, std::span<const uint64_t> ids);
  // Replaces an earlier payload of that feature.
  void set_feature(uint8_t bit, std::string payload);
  void set_feature(Feature feature, std::string payload) {
    set_feature(static_cast<uint8_t>(feature), std::move(payload));
  }
  // Feature sections (event_descriptions is made from the attributes, unless it was set) and
  // the final header. Last.
  Status finish();

  [[nodiscard]] uint64_t data_bytes() const { return data_size_; }
  [[nodiscard]] uint64_t file_bytes() const { return written_; }

 private:
  Status append(std::string_view bytes);
  Status check(const std::vector<Attribute>& attributes) const;
  Status write_new_attributes();
  Status write_new_ids();
  [[nodiscard]] std::string attribute_entries() const;
  [[nodiscard]] std::string header_bytes(bool with_features) const;

  struct Entry {
    Attribute attribute;
    uint64_t ids_offset = 0;
    uint64_t ids_written = 0;
  };
  FileOutput& output_;
  std::vector<Entry> entries_;
  std::map<uint8_t, std::string> features_;
  size_t attr_bytes_ = 0;
  size_t attrs_written_ = 0;
  uint64_t attrs_offset_ = 0;
  uint64_t data_offset_ = 0;
  uint64_t data_size_ = 0;
  uint64_t checkpoint_ = UINT64_MAX;  // the size that the file's header has
  uint64_t written_ = 0;
};

// Payloads of features.
[[nodiscard]] std::string string_feature(std::string_view text);
[[nodiscard]] std::string string_list_feature(std::span<const std::string> words);  // command_line
[[nodiscard]] std::string cpu_count_feature(uint32_t available, uint32_t online);
[[nodiscard]] std::string sample_time_feature(uint64_t first, uint64_t last);
[[nodiscard]] std::string clockid_feature(uint64_t resolution_ns);
// One moment on both clocks.
[[nodiscard]] std::string clock_data_feature(uint32_t clockid, uint64_t wall_ns, uint64_t clock_ns);
// One entry of a build_id feature; entries follow one another. pid -1: the host. `kernel`: a kernel
// image or module.
[[nodiscard]] std::string build_id_entry(int32_t pid, bool kernel, std::span<const std::byte> id,
                                         std::string_view path);

}  // namespace jitscope::perfdata
