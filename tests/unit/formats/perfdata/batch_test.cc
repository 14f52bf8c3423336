// Records that come in batches are those that a handler gets, and stay as they are while a batch
// is out.
#include "formats/perfdata/batch.h"

#include <gmock/gmock.h>

#include <array>
#include <deque>
#include <random>

#include "collect.h"

namespace jitscope::perfdata::test {
namespace {

// Reads batches late: so many are out at a time.
class LateReader : public BatchSink {
 public:
  explicit LateReader(size_t out) : out_(out) {}
  RecordBatch* empty() override {
    if (stopped_) return nullptr;
    if (waiting_.size() < out_) return &batches_.emplace_back();
    RecordBatch* const batch = waiting_.front();
    read();
    return batch;
  }
  void full(RecordBatch* batch) override { waiting_.push_back(batch); }
  bool settle() override {
    while (!waiting_.empty()) read();
    ++settled;
    return true;
  }
  std::unique_ptr<Collected> all(std::vector<std::byte> bytes, const ReadOptions& options,
                                 size_t stop_after = SIZE_MAX) {
    auto collected = std::make_unique<Collected>();
    to_ = collected.get();
    to_->stop_after = stop_after;
    auto reader = Reader::open(memory_source(std::move(bytes)), options);
    if (!reader) {
      ADD_FAILURE() << to_string(reader.error());
      return collected;
    }
    EXPECT_TRUE((*reader)->batches_fit());
    decoder_ = (*reader)->decoder(notes_);
    collected->status = (*reader)->read(*this);
    settle();
    (*reader)->take_notes(notes_);
    collected->reader = std::move(*reader);
    return collected;
  }
  size_t settled = 0;

 private:
  void read() {
    const RecordBatch& batch = *waiting_.front();
    waiting_.pop_front();
    for (size_t i = 0; i < batch.entries().size() && !stopped_; ++i) {
      batch.prefetch(i + 1, 4096);
      stopped_ = !decoder_->hand_out(batch.raw(i), batch.entries()[i].offset, *to_);
    }
  }
  size_t out_;
  std::deque<RecordBatch> batches_;
  std::deque<RecordBatch*> waiting_;
  Diagnostics notes_;
  std::unique_ptr<Decoder> decoder_;
  Collected* to_ = nullptr;
  bool stopped_ = false;
};

void expect_same(const Collected& found, const Collected& expected) {
  ASSERT_EQ(found.heads.size(), expected.heads.size());
  for (size_t i = 0; i < found.heads.size(); ++i) {
    ASSERT_EQ(found.heads[i].offset, expected.heads[i].offset) << i;
    ASSERT_EQ(found.heads[i].time, expected.heads[i].time);
    ASSERT_EQ(found.heads[i].type, expected.heads[i].type);
  }
  ASSERT_EQ(found.samples.size(), expected.samples.size());
  for (size_t i = 0; i < found.samples.size(); ++i) {
    const Sample& a = found.samples[i];
    const Sample& b = expected.samples[i];
    ASSERT_EQ(a.ip, b.ip);
    ASSERT_EQ(a.event, b.event);
    ASSERT_EQ(a.period, b.period);
    ASSERT_THAT(a.callchain, ::testing::ElementsAreArray(b.callchain)) << i;
    ASSERT_THAT(a.raw, ::testing::ElementsAreArray(b.raw)) << i;
  }
  const auto notes = [](const Collected& collected) {
    std::vector<std::string> texts;
    for (const auto& entry : collected.reader->diagnostics().entries()) {
      texts.push_back(to_string(entry));
    }
    return texts;
  };
  EXPECT_EQ(notes(found), notes(expected));
  const auto comms = expected.all<Comm>();
  const auto found_comms = found.all<Comm>();
  ASSERT_EQ(found_comms.size(), comms.size());
  for (size_t i = 0; i < comms.size(); ++i) EXPECT_EQ(found_comms[i].name, comms[i].name);
}

// Many rounds of many CPUs, some records late, some damaged, some packed.
std::vector<std::byte> recording(unsigned seed, bool damaged) {
  std::mt19937 random(seed);
  PerfDataBuilder builder;
  PerfDataBuilder packed;
  for (uint64_t i = 0; i < 6000; ++i) {
    SampleSpec sample{.pid = 1,
                      .tid = 1 + static_cast<uint32_t>(i % 3),
                      .time = 1000 + i * 10 - random() % 300,
                      .cpu = static_cast<uint32_t>(random() % 4),
                      .ip = random()};
    for (size_t frames = random() % 60; frames > 0; --frames) sample.callchain.push_back(random());
    builder.sample(sample);
    if (i % 50 == 0) builder.comm(1, 1, "name" + std::to_string(i), Stamp{1, 1, 1000 + i * 10, 0});
    if (i % 97 == 0) builder.round();
    if (i % 1000 == 999) {
      builder.record(RecordType::event_update, 0, Bytes().u64(2).u64(100).text("later"));
    }
    if (damaged && i % 701 == 0) {
      builder.record(RecordType::comm, 0, Bytes().u32(1));
      builder.record(RecordType::sample, 2, Bytes().u64(1).u64(2));
    }
    if (i % 501 == 0) packed.sample(sample);
  }
  builder.compressed(packed);
  std::vector<std::byte> bytes = builder.file();
  if (damaged) bytes.resize(bytes.size() - bytes.size() / 10);
  return bytes;
}

TEST(BatchTest, BatchesHoldWhatAHandlerGets) {
  for (const bool damaged : {false, true}) {
    for (const uint64_t waiting : {uint64_t{256} << 20U, uint64_t{300} << 10U}) {
      const std::vector<std::byte> bytes = recording(damaged ? 1 : 2, damaged);
      ReadOptions options;
      options.max_waiting_bytes = waiting;
      const auto expected = collect(bytes, {.read = options});
      ASSERT_GT(expected->samples.size(), 4000U);
      for (const size_t out : {1, 2, 20}) {
        LateReader reader(out);
        const auto found = reader.all(bytes, options);
        EXPECT_EQ(found->status.has_value(), expected->status.has_value());
        expect_same(*found, *expected);
        EXPECT_GE(reader.settled, damaged ? 5U : 6U);
      }
    }
  }
}

TEST(BatchTest, ReadingEndsWhenNoMoreIsWanted) {
  const std::vector<std::byte> bytes = recording(3, false);
  LateReader reader(3);
  const auto found = reader.all(bytes, {}, 1000);
  EXPECT_TRUE(found->status);
  EXPECT_EQ(found->handed, 1000U);
}

// A file of nothing but changes would make threads wait for each other for each record of it.
TEST(BatchTest, SoManyChangesOfTheHeaderAreTakenAndNoMore) {
  PerfDataBuilder builder;
  for (int i = 0; i < 5000; ++i) {
    builder.record(RecordType::event_update, 0,
                   Bytes().u64(2).u64(100).text("e" + std::to_string(i)));
  }
  builder.sample({.time = 5});
  const std::vector<std::byte> bytes = builder.file();
  const auto expected = collect(bytes);
  LateReader reader(3);
  const auto found = reader.all(bytes, {});
  expect_same(*found, *expected);
  EXPECT_EQ(reader.settled, 4096U + 1);
  EXPECT_EQ(found->reader->header().events[0].name, "e4095");
  ASSERT_EQ(found->reader->diagnostics().entries().size(), 1U);
  EXPECT_EQ(found->reader->diagnostics().entries()[0].count, 5000U - 4096U);
}

TEST(BatchTest, APipeIsNotReadInBatches) {
  auto reader = Reader::open(memory_source(recording(4, false), false));
  ASSERT_TRUE(reader);
  EXPECT_FALSE((*reader)->batches_fit());
}

}  // namespace
}  // namespace jitscope::perfdata::test
