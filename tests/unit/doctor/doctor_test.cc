// What doctor says of a profile as a whole: which example, which advice, whether callers are
// missing.
#include "doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "doctor/advice.h"
#include "support/perfdata_builder.h"

namespace jitscope {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DoctorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "doctor_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    const std::vector<std::byte> bytes = perfdata::test::PerfDataBuilder().file();
    const std::string path = folder_ + "/perf.data";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    auto session = Session::open(path, {});
    ASSERT_TRUE(session);
    session_ = std::move(*session);
    profile_.groups = {{100, 100, "app", "app"}};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  FrameId frame(std::string method, FrameKind kind, Tier tier = Tier::unknown) {
    Frame frame;
    frame.method = std::move(method);
    frame.kind = kind;
    frame.tier = tier;
    profile_.frames.push_back(std::move(frame));
    return static_cast<FrameId>(profile_.frames.size() - 1);
  }
  FrameId nameless(NoName reason, std::string path) {
    const FrameId id = frame("", FrameKind::unknown);
    profile_.frames[id].no_name = reason;
    profile_.frames[id].dso_path = std::move(path);
    return id;
  }
  // Root first.
  void add(std::initializer_list<FrameId> frames, uint64_t samples) {
    StackId at = kRootStack;
    for (const FrameId each : frames) {
      profile_.nodes.push_back({at, each});
      at = static_cast<StackId>(profile_.nodes.size() - 1);
    }
    profile_.stacks.push_back({0, 0, at, samples, samples});
    profile_.samples += samples;
  }
  Diagnosis diagnosis() { return diagnose(*session_, profile_); }

  std::string folder_;
  std::unique_ptr<Session> session_;
  Profile profile_;
};

TEST_F(DoctorTest, TheExampleIsWhatMostSamplesAreOf) {
  const NoName stripped = NoName::stripped;
  const FrameId rare = nameless(stripped, "/lib/a.so");
  const FrameId common = nameless(stripped, "/lib/b.so");
  const FrameId named = frame("main", FrameKind::native);
  add({named, rare}, 1);
  add({named, common}, 9);
  add({rare, rare, rare, named}, 9);
  const Diagnosis found = diagnosis();
  ASSERT_EQ(found.complaints.size(), 1U);
  EXPECT_EQ(found.complaints[0].example, "/lib/b.so");
  EXPECT_EQ(found.complaints[0].leaf_samples, 10U);
  EXPECT_EQ(found.unnamed_leaves, 10U);
}

TEST_F(DoctorTest, JavaCodeThatNativeCodeSeemsToHaveCalled) {
  const FrameId start = frame("start_thread", FrameKind::native);
  const FrameId stub = frame("StubRoutines (1)", FrameKind::runtime, Tier::stub);
  const FrameId java = frame("Shop.total()", FrameKind::jit, Tier::c2);
  const FrameId inner = frame("Order.price()", FrameKind::jit, Tier::c1_full);
  add({start, stub, java}, 60);
  add({start, stub, java, inner}, 30);
  EXPECT_THAT(diagnosis().notes, Not(Contains(HasSubstr("lack callers"))));
  add({start, inner}, 6);
  add({java}, 4);
  EXPECT_THAT(
      diagnosis().notes,
      Contains("app: 10 % of the stacks with compiled Java code lack callers: start the JVM "
               "with -XX:+PreserveFramePointer"));
}

TEST_F(DoctorTest, CodeWithoutFramePointers) {
  const FrameId main = frame("main", FrameKind::native);
  const FrameId work = frame("work", FrameKind::native);
  const FrameId tick = frame("tick", FrameKind::kernel);
  add({main, work}, 30);
  add({tick}, 900);
  add({work}, 29);
  EXPECT_THAT(diagnosis().notes, Not(Contains(HasSubstr("have no caller"))));
  add({main}, 1);
  EXPECT_THAT(diagnosis().notes, Contains(HasSubstr("app: 50 % of the samples of its code have no "
                                                    "caller: it was built without")));
}

TEST_F(DoctorTest, StacksThatTheKernelCut) {
  const FrameId java = frame("Shop.total()", FrameKind::jit, Tier::c2);
  const FrameId astray = nameless(NoName::no_mapping, "");
  const auto deep = [&](FrameId outermost, size_t frames) {
    StackId at = kRootStack;
    for (size_t i = 0; i < frames; ++i) {
      profile_.nodes.push_back({at, i == 0 ? outermost : java});
      at = static_cast<StackId>(profile_.nodes.size() - 1);
    }
    profile_.stacks.push_back({0, 0, at, 30, 30});
    profile_.samples += 30;
  };
  const FrameId start = frame("start_thread", FrameKind::native);
  add({start, frame("StubRoutines (1)", FrameKind::runtime, Tier::stub), java}, 70);
  deep(astray, 127);  // a walk that went astray is as long
  EXPECT_THAT(diagnosis().notes, Not(Contains(HasSubstr("are cut"))));
  profile_.stacks.pop_back();
  profile_.samples -= 30;
  deep(java, 127);
  EXPECT_THAT(diagnosis().notes, Contains(HasSubstr("app: 30 % of the stacks are cut at 127")));
  EXPECT_THAT(diagnosis().notes, Not(Contains(HasSubstr("lack callers"))));
}

TEST_F(DoctorTest, NoStacksAtAll) {
  add({frame("work", FrameKind::native)}, 3);
  EXPECT_THAT(diagnosis().notes, Contains(HasSubstr("no sample has a caller")));
}

TEST(Doctor, AdviceIsForTheRuntime) {
  const NoName astray = NoName::no_mapping;
  EXPECT_THAT(advice_for(astray, Runtime::hotspot), HasSubstr("PreserveFramePointer"));
  EXPECT_THAT(advice_for(astray, Runtime::unknown), Not(HasSubstr("JVM")));
  const NoName none = NoName::no_source;
  EXPECT_THAT(advice_for(none, Runtime::hotspot), HasSubstr("jitscope record -p"));
  EXPECT_THAT(advice_for(none, Runtime::v8), HasSubstr("--perf-prof"));
  EXPECT_THAT(advice_for(none, Runtime::v8), HasSubstr("--perf-map PID=FILE"));
}

TEST(Doctor, AdviceLooksAtWhatTheRecordingHolds) {
  const NoName none = NoName::no_source;
  Program program(Runtime::hotspot);
  program.followed = true;
  EXPECT_THAT(advice_for(none, program), HasSubstr("ended before jitscope record had looked"));
  program.names_missing = true;
  EXPECT_THAT(advice_for(none, program), HasSubstr("missing: put it beside the recording"));
  EXPECT_THAT(advice_for(NoName::empty_dump, Runtime::v8), HasSubstr("in blocks"));
  EXPECT_THAT(advice_for(NoName::empty_dump, Runtime::unknown), Not(IsEmpty()));
}

// Nobody gets another runtime's flags.
TEST(Doctor, AdviceIsForWhatTheProcessMapped) {
  const auto advice = [](std::initializer_list<std::string_view> files) {
    Program program(Runtime::unknown);
    for (const std::string_view file : files) program.kind.see(file);
    return advice_for(NoName::no_source, program);
  };
  const std::string luajit = advice({"/usr/bin/luajit-2.1.0-beta3"});
  EXPECT_THAT(luajit, HasSubstr("cannot be named"));
  EXPECT_THAT(luajit, Not(HasSubstr("-X perf")));
  EXPECT_THAT(advice({"/usr/bin/pypy3.9", "/usr/lib/libpypy3.9-c.so"}), HasSubstr("PyPy writes"));
  EXPECT_THAT(advice({"/usr/bin/ruby3.1", "/usr/lib/libruby-3.1.so.3.1.2"}),
              HasSubstr("before 3.3 writes neither"));
  EXPECT_EQ(advice({"/usr/bin/ruby3.4"}), "start ruby with --yjit --yjit-perf (a map)");
  EXPECT_THAT(advice({"/opt/bun/bin/bun"}), HasSubstr("BUN_JSC_useJITDump=1"));
  EXPECT_THAT(advice({"/usr/bin/python3.11"}), HasSubstr("before 3.12 compiles nothing"));
  EXPECT_THAT(advice({"/usr/bin/python3.13"}), HasSubstr("-X perf_jit"));
  EXPECT_THAT(advice({"/usr/lib/postgresql/15/bin/postgres"}), HasSubstr("jit_profiling_support"));
  const std::string other = advice({"/usr/bin/something"});
  for (const char* flag : {"--perf-prof", "-X perf", "--yjit", "--jitmap", "JPperf"}) {
    EXPECT_THAT(other, Not(HasSubstr(flag)));
  }
}

}  // namespace
}  // namespace jitscope
