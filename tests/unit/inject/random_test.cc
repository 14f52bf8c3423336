// The output of inject for recordings made at random: what a model of perf says of every address of
// every stack (support/perf_model.h) is what jitscope says of the input. Seeds are fixed: a failure
// names its seed, and JITSCOPE_INJECT_SEEDS=FROM-TO runs others.
//
// Not compared, since perf asks another question than jitscope there: return addresses that do not
// lie in the code that their call lies in (perf looks for the return address as it is).
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "formats/perfdata/callchain.h"
#include "inject/inject.h"
#include "naming/frame_name.h"
#include "session/session.h"
#include "support/perf_model.h"
#include "support/random_recording.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

using perfdata::CpuMode;
using test::PerfModel;
using test::RandomRecording;

// What jitscope says of the input.
class Wanted : public SampleConsumer {
 public:
  struct Name {
    std::string text;
    bool compared = true;
  };
  struct Stack {
    std::vector<Name> names;  // for each entry, markers too
    std::vector<Name> words;  // of the copied user stack
    uint64_t time = 0;
  };
  explicit Wanted(Session& session) : session_(session) {}

  bool on_sample(const ResolvedSample& resolved) override {
    const perfdata::Sample& sample = resolved.sample;
    Stack& stack = samples[sample.period];
    stack.time = sample.head.time;
    std::vector<uint64_t> chain(sample.callchain.begin(), sample.callchain.end());
    if (!resolved.callchain) chain = {sample.ip};
    CpuMode mode = sample.mode;
    bool caller = false;
    bool leaf = true;
    size_t next = resolved.stack.size();
    for (const uint64_t ip : chain) {
      if (resolved.callchain && perfdata::is_marker(ip)) {
        mode = perfdata::mode_of_marker(ip, mode);
        caller = false;
        stack.names.push_back({"", false});
        continue;
      }
      const LocationId id = resolved.stack[--next];
      stack.names.push_back(name_of(resolved, id, ip, caller, mode));
      if (leaf && mode == CpuMode::user) count(id);
      leaf = false;
      caller = true;
    }
    for (size_t at = 0; at + 8 <= sample.user_stack.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, sample.user_stack.data() + at, sizeof(word));
      stack.words.push_back(word_name(resolved, word));
    }
    return true;
  }

  std::map<uint64_t, Stack> samples;  // by period
  uint64_t jit = 0;
  uint64_t nameless = 0;

 private:
  [[nodiscard]] bool is_jit(LocationId id) const {
    const Location location = session_.location(id);
    return location.jit != 0 && !session_.resolver().frames()[location.frame].method.empty();
  }
  [[nodiscard]] std::string text(LocationId id) const {
    if (!is_jit(id)) return PerfModel::kNone;
    const Frame& frame = session_.resolver().frames()[session_.location(id).frame];
    return symbol_text(frame) + (frame.ambiguous ? "?" : "");
  }
  void count(LocationId id) {
    if (is_jit(id)) {
      ++jit;
    } else if (session_.resolver().frames()[session_.location(id).frame].place ==
               FramePlace::memory) {
      ++nameless;
    }
  }
  Name name_of(const ResolvedSample& resolved, LocationId id, uint64_t ip, bool caller,
               CpuMode mode) {
    if (mode != CpuMode::user) return {"", false};
    const AddressRange range = session_.span(id).range;
    bool same = !caller || (ip >= range.low && ip <= range.high);
    if (!same && is_jit(id)) {  // another stretch of the body
      const LocationId at =
          session_.locate(thread_of(resolved), ip, false, resolved.sample.head.time);
      same = session_.location(at).jit == session_.location(id).jit;
    }
    return {text(id), same};
  }
  ThreadState& thread_of(const ResolvedSample& resolved) {
    return session_.processes().thread(resolved.thread.pid, resolved.thread.tid);
  }
  // A stack that perf unwinds has its callers from words like these.
  Name word_name(const ResolvedSample& resolved, uint64_t word) {
    ThreadState& thread = thread_of(resolved);
    const LocationId id = session_.locate(thread, word, true, resolved.sample.head.time);
    const MappedRange* range = thread.process->space.at(word - 1);
    const bool memory = range != nullptr && range->memory && range->executable;
    return {text(id), memory && is_jit(id)};
  }
  Session& session_;
};

struct Compared {
  size_t recordings = 0;
  size_t samples = 0;
  size_t frames = 0;
  size_t jit = 0;
  size_t words = 0;
  size_t edges = 0;
};

class InjectRandomTest : public test::ScratchFolderTest {
 protected:
  // Whether all is as it has to be.
  bool compare(uint64_t seed) {
    RandomRecording recording(seed, folder_);
    for (size_t i = 0; i < recording.dump_count(); ++i) {
      write("any-" + std::to_string(i) + ".dump", recording.dump(i));
    }
    NamingOptions naming;
    if (recording.one_in(3)) naming.perf_maps[test::kPids[0]] = write("any.map", recording.map());
    const std::string input = write("in.data", recording.bytes());
    InjectOptions options;
    options.naming = naming;
    options.output = folder_ + "/out.data";
    options.force = true;
    options.all = recording.one_in(4);
    const auto summary = inject(input, options);
    EXPECT_TRUE(summary) << to_string(summary.error());
    if (!summary) return false;

    SessionOptions session_options;
    session_options.naming = naming;
    session_options.naming.jit_inlined = false;
    auto session = Session::open(input, session_options);
    if (!session) return false;
    Wanted wanted(**session);
    EXPECT_TRUE((*session)->run(wanted));
    EXPECT_EQ(summary->samples, wanted.samples.size());
    EXPECT_EQ(summary->jit_samples, wanted.jit);
    EXPECT_EQ(summary->nameless, wanted.nameless);
    ++compared_.recordings;
    compared_.samples += wanted.samples.size();
    for (const bool forgets_exited : {false, true}) {
      if (forgets_exited && !recording.orderly()) break;
      PerfModel perf(forgets_exited);
      EXPECT_TRUE(perf.read(options.output));
      SCOPED_TRACE(forgets_exited ? "as perf 6.7" : "as perf 6.1");
      EXPECT_FALSE(perf.overlap);
      if (!compare(wanted, perf)) return false;
    }
    return true;
  }
  bool compare(const Wanted& wanted, const PerfModel& perf) {
    EXPECT_EQ(perf.samples.size(), wanted.samples.size());
    for (const auto& [number, stack] : wanted.samples) {
      const auto told = perf.samples.find(number);
      if (told == perf.samples.end()) {
        ADD_FAILURE() << "sample " << number << " is missing";
        return false;
      }
      if (!compare(stack.names, told->second.names, "frame", number, stack.time)) return false;
      if (!compare(stack.words, told->second.words, "word", number, stack.time)) return false;
    }
    return true;
  }
  bool compare(const std::vector<Wanted::Name>& wanted, const std::vector<std::string>& told,
               const char* what, uint64_t sample, uint64_t time) {
    EXPECT_EQ(told.size(), wanted.size());
    if (told.size() != wanted.size()) return false;
    for (size_t i = 0; i < told.size(); ++i) {
      if (!wanted[i].compared) {
        compared_.edges += wanted[i].text.empty() || what[0] == 'w' ? 0 : 1;
        continue;
      }
      ++(what[0] == 'w' ? compared_.words : compared_.frames);
      compared_.jit += wanted[i].text != PerfModel::kNone ? 1 : 0;
      if (told[i] == wanted[i].text) continue;
      ADD_FAILURE() << what << " " << i << " of sample " << sample << " at " << time
                    << ": perf says " << told[i] << ", jitscope " << wanted[i].text;
      return false;
    }
    return true;
  }
  Compared compared_;
};

TEST_F(InjectRandomTest, PerfSaysWhatJitscopeSays) {
  uint64_t from = 1;
  uint64_t to = 200;
  if (const char* seeds = std::getenv("JITSCOPE_INJECT_SEEDS")) {
    char* rest = nullptr;
    from = std::strtoull(seeds, &rest, 10);
    to = *rest == '-' ? std::strtoull(rest + 1, nullptr, 10) : from;
  }
  int failures = 0;
  for (uint64_t seed = from; seed <= to && failures < 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    if (!compare(seed)) ++failures;
  }
  std::printf(
      "%zu recordings, %zu samples; compared %zu frames and %zu words, %zu of JIT code; "
      "%zu return addresses at edges\n",
      compared_.recordings, compared_.samples, compared_.frames, compared_.words, compared_.jit,
      compared_.edges);
  EXPECT_GT(compared_.jit, compared_.frames / 10);
}

}  // namespace
}  // namespace jitscope
