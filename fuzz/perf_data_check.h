// What must hold for any bytes that pretend to be a perf.data: shared by the fuzz target and by the
// unit test that replays its corpus.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "formats/perfdata/reader.h"

namespace jitscope::fuzz {

// Touches all that it is given, and counts.
class PerfDataSink : public perfdata::Handler {
 public:
  bool on_sample(const perfdata::Sample& sample) override {
    seen(sample.head);
    for (const uint64_t address : sample.callchain) sum_ += address;
    for (const uint64_t value : sample.user_regs) sum_ += value;
    touch(sample.user_stack);
    touch(sample.raw);
    ++samples;
    return true;
  }
  bool on_record(const perfdata::Record& record) override {
    using namespace perfdata;
    seen(record.head);
    if (const auto* mapping = std::get_if<Mmap>(&record.body)) {
      touch(mapping->path);
      touch(mapping->build_id);
    } else if (const auto* comm = std::get_if<Comm>(&record.body)) {
      touch(comm->name);
    } else if (const auto* symbol = std::get_if<Ksymbol>(&record.body)) {
      touch(symbol->name);
    } else if (const auto* group = std::get_if<Cgroup>(&record.body)) {
      touch(group->path);
    } else if (const auto* bpf = std::get_if<BpfEvent>(&record.body)) {
      touch(bpf->tag);
    } else if (const auto* build_id = std::get_if<BuildId>(&record.body)) {
      touch(build_id->id);
      touch(build_id->path);
    } else if (const auto* other = std::get_if<Other>(&record.body)) {
      touch(other->body);
    }
    ++records;
    return true;
  }
  [[nodiscard]] uint64_t sum() const { return sum_; }
  uint64_t samples = 0;
  uint64_t records = 0;
  uint64_t backward = 0;  // times that are older than one before

 private:
  void seen(const perfdata::RecordHead& head) {
    // Untimed ones and those that perf made up (time 0) are outside the order, as are its own.
    if (!head.has_time || head.time == 0 || head.time == UINT64_MAX) return;
    if (static_cast<uint32_t>(head.type) >= 64) return;
    if (head.time < latest_) {
      ++backward;
    } else {
      latest_ = head.time;
    }
  }
  void touch(std::string_view text) { touch(std::as_bytes(std::span(text.data(), text.size()))); }
  void touch(std::span<const std::byte> bytes) {
    for (const std::byte b : bytes) sum_ += static_cast<uint64_t>(b);
  }
  uint64_t latest_ = 0;
  uint64_t sum_ = 0;
};

// Empty when all is well, else what is not.
inline std::string check_perf_data(std::span<const std::byte> bytes) {
  struct Way {
    bool seekable;
    size_t piece;
    perfdata::ReadOptions options;
  };
  const Way ways[] = {{true, 0, {}},
                      {false, 7, {}},
                      {true, 0, {.in_order = false}},
                      {true, 0, {.max_waiting_bytes = 2000}}};
  constexpr uint64_t kUnset = UINT64_MAX;
  uint64_t samples = kUnset;
  uint64_t records = 0;
  uint64_t sum = 0;
  for (const Way& way : ways) {
    auto reader = perfdata::Reader::open(
        memory_source({bytes.begin(), bytes.end()}, way.seekable, way.piece), way.options);
    if (!reader) continue;
    PerfDataSink sink;
    const Status status = (*reader)->read(sink);
    const Diagnostics& notes = (*reader)->diagnostics();
    if (way.options.in_order && sink.backward > notes.count("record out of order")) {
      return fmt::format("{} times went back, {} were counted", sink.backward,
                         notes.count("record out of order"));
    }
    // A pipe's attributes may change while records wait, and a file that comes through a pipe has
    // its features last: only the ways that read the same bytes at the same time must agree.
    if (!status || !way.seekable || (*reader)->header().pipe) continue;
    if (samples == kUnset) {
      samples = sink.samples;
      records = sink.records;
      sum = sink.sum();
    } else if (samples != sink.samples || records != sink.records || sum != sink.sum()) {
      return fmt::format("{} samples, {} records, sum {} one way, {}, {}, {} another", samples,
                         records, sum, sink.samples, sink.records, sink.sum());
    }
  }
  return {};
}

}  // namespace jitscope::fuzz
