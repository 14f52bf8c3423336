// Everything that a recording hands out, copied, so that tests can look at it afterwards.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "formats/perfdata/reader.h"
#include "support/perfdata_builder.h"

namespace jitscope::perfdata::test {

class Collected : public Handler {
 public:
  bool on_sample(const Sample& sample) override {
    Sample copy = sample;
    copy.callchain = keep(sample.callchain);
    copy.user_regs = keep(sample.user_regs);
    copy.user_stack = keep(sample.user_stack);
    copy.raw = keep(sample.raw);
    samples.push_back(copy);
    heads.push_back(sample.head);
    return ++handed < stop_after;
  }
  bool on_record(const Record& record) override {
    Record copy = record;
    std::visit([&](auto& body) { own(body); }, copy.body);
    records.push_back(copy);
    heads.push_back(record.head);
    return ++handed < stop_after;
  }
  // The bodies of one type, in the order in which they came.
  template <typename T>
  [[nodiscard]] std::vector<T> all() const {
    std::vector<T> found;
    for (const Record& record : records) {
      if (const T* body = std::get_if<T>(&record.body)) found.push_back(*body);
    }
    return found;
  }
  [[nodiscard]] std::vector<uint64_t> times() const {
    std::vector<uint64_t> out;
    for (const RecordHead& head : heads) {
      if (static_cast<uint32_t>(head.type) < kFirstUserType) out.push_back(head.time);
    }
    return out;
  }

  std::vector<Sample> samples;
  std::vector<Record> records;
  std::vector<RecordHead> heads;  // of all, in order
  size_t handed = 0;
  size_t stop_after = SIZE_MAX;
  // Filled by collect().
  std::unique_ptr<Reader> reader;
  Status status;

 private:
  std::span<const std::byte> keep(std::span<const std::byte> bytes) {
    return bytes_.emplace_back(bytes.begin(), bytes.end());
  }
  std::span<const uint64_t> keep(std::span<const uint64_t> words) {
    return words_.emplace_back(words.begin(), words.end());
  }
  std::string_view keep(std::string_view text) { return texts_.emplace_back(text); }
  void own(Mmap& m) {
    m.path = keep(m.path);
    m.build_id = keep(m.build_id);
  }
  void own(Comm& c) { c.name = keep(c.name); }
  void own(Ksymbol& k) { k.name = keep(k.name); }
  void own(BpfEvent& b) { b.tag = keep(b.tag); }
  void own(Cgroup& c) { c.path = keep(c.path); }
  void own(BuildId& b) {
    b.path = keep(b.path);
    b.id = keep(b.id);
  }
  void own(Other& o) { o.body = keep(o.body); }
  template <typename T>
  void own(T& /*plain*/) {}

  std::deque<std::vector<std::byte>> bytes_;
  std::deque<std::vector<uint64_t>> words_;
  std::deque<std::string> texts_;
};

struct CollectOptions {
  ReadOptions read{};
  bool seekable = true;
  size_t piece = 4096;
  size_t stop_after = SIZE_MAX;
};

// Opens and reads to the end; an error of open() fails the test.
inline std::unique_ptr<Collected> collect(std::vector<std::byte> bytes,
                                          const CollectOptions& options = {}) {
  auto collected = std::make_unique<Collected>();
  collected->stop_after = options.stop_after;
  auto reader =
      Reader::open(memory_source(std::move(bytes), options.seekable, options.piece), options.read);
  if (!reader) {
    ADD_FAILURE() << to_string(reader.error());
    collected->status = fail(reader.error());
    return collected;
  }
  collected->reader = std::move(*reader);
  collected->status = collected->reader->read(*collected);
  return collected;
}

inline std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace jitscope::perfdata::test
