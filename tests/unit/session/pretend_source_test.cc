// A source of names that only pretends: what the recipe "add a source of names" of CONTRIBUTING.md
// promises. It is asked where all others have passed, and its answer is kept like theirs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/session.h"
#include "support/perfdata_builder.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

using perfdata::test::PerfDataBuilder;
using perfdata::test::Stamp;
using ::testing::ElementsAre;

constexpr uint32_t kPid = 0x7fff0041;  // no machine gives out pids like this
constexpr uint64_t kCode = 0x7f0000000000;

// Names the first half of each mapping that is left to it.
class Pretend : public SourceOfNames {
 public:
  explicit Pretend(NameTables& tables) : tables_(tables) {}
  std::optional<Resolution> answer(Question& question) override {
    ++asked;
    const MappedRange& range = question.range;
    const uint64_t middle = range.start + (range.end - range.start) / 2;
    if (question.lookup >= middle) {
      question.reach.narrow(middle, range.end - 1);
      return std::nullopt;
    }
    question.reach.narrow(range.start, middle - 1);
    Frame frame;
    frame.method = "pretended";
    frame.raw = frame.method;
    frame.kind = FrameKind::jit;
    frame.place = FramePlace::memory;
    Resolution out;
    out.named = true;
    out.location.shown_ip = question.query.ip;
    out.location.symbol_offset = question.query.ip - range.start;
    out.location.dso = tables_.dso_number("pretended.so");
    out.location.frame = tables_.frames().number(std::move(frame));
    return out;
  }
  size_t asked = 0;

 private:
  NameTables& tables_;
};

class Leaves : public SampleConsumer {
 public:
  explicit Leaves(Session& session) : session_(session) {}
  bool on_sample(const ResolvedSample& sample) override {
    const Location location = session_.location(sample.stack.back());
    const Frame& frame = session_.resolver().frames()[location.frame];
    found.push_back(frame.method.empty() ? std::string(to_string(frame.no_name)) : frame.method);
    return true;
  }
  std::vector<std::string> found;

 private:
  Session& session_;
};

class PretendSource : public test::ScratchFolderTest {};

TEST_F(PretendSource, IsAskedWhereAllOthersPassed) {
  PerfDataBuilder builder;
  builder.comm(kPid, kPid, "it", Stamp{kPid, kPid, 10, 0});
  builder.mmap2({.pid = kPid,
                 .tid = kPid,
                 .start = kCode,
                 .length = 0x1000,
                 .path = "//anon",
                 .inode = 0,
                 .stamp = {.pid = kPid, .time = 30}});
  uint64_t time = 100;
  for (const uint64_t address : {kCode + 0x10, kCode + 0x210, kCode + 0x220, kCode + 0x900}) {
    builder.sample({.pid = kPid,
                    .tid = kPid,
                    .time = time++,
                    .ip = address,
                    .callchain = {perfdata::kContextUser, address}});
  }
  const std::string path = write("perf.data", builder.file());
  SessionOptions options;
  options.naming.perf_maps[kPid] = write("the.map", "7f0000000000 40 known\n");
  auto session = Session::open(path, options);
  ASSERT_TRUE(session);
  auto source = std::make_unique<Pretend>((*session)->resolver().tables());
  Pretend& pretend = *source;
  (*session)->resolver().add(std::move(source));
  Leaves leaves(**session);
  ASSERT_TRUE((*session)->run(leaves));
  EXPECT_THAT(leaves.found, ElementsAre("known", "pretended", "pretended",
                                        std::string(to_string(NoName::no_line_there))));
  EXPECT_EQ(pretend.asked, 2U) << "its first answer holds for the next address too";
}

}  // namespace
}  // namespace jitscope
