// A backend that only pretends, with hits of its own: what the recipe "add a backend" of
// CONTRIBUTING.md promises. Needs no rights: nothing is stopped, changed or counted by the kernel.
#include "probe/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <set>

#include "probe/tracer.h"
#include "tests/unit/probe/fake_source.h"

namespace jitscope {
namespace {

using std::chrono::milliseconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Calls that the test makes; each counts where a site is placed.
class PretendHits final : public HitSource {
 public:
  void call(uint64_t entry) {
    for (const auto& [id, at] : sites) {
      if (at != entry) continue;
      ++counted_[id].calls;
      Hit hit;
      hit.site = id;
      hit.pid = 7;
      hit.registers[0] = entry;
      waiting_.push_back(hit);
    }
  }
  Result<size_t> poll(milliseconds /*wait*/,
                      const std::function<void(const Hit&)>& on_hit) override {
    const std::vector<Hit> hits = std::exchange(waiting_, {});
    for (const Hit& hit : hits) on_hit(hit);
    return hits.size();
  }
  [[nodiscard]] HitCounts counts(uint32_t site) const override {
    const auto found = counted_.find(site);
    return found == counted_.end() ? HitCounts{} : found->second;
  }

  std::map<uint32_t, uint64_t> sites;

 private:
  std::map<uint32_t, HitCounts> counted_;
  std::vector<Hit> waiting_;
};

// What the tests tell the placers, and see of them.
struct World {
  PretendHits hits;
  std::set<uint64_t> refused;  // entries
  std::optional<Error> broken;
  std::string lacks;
  std::vector<LostSite> lost;
  std::vector<std::string> done;
};
World* world = nullptr;

class PretendPlacer final : public SitePlacer {
 public:
  HitSource& hits() override { return world->hits; }
  PlaceReport place(std::span<const SiteRequest> requests) override {
    PlaceReport report;
    report.outcomes.resize(requests.size());
    if (world->broken) {
      report.status = fail(*world->broken);
      report.lacks = world->lacks;
      return report;
    }
    for (size_t i = 0; i < requests.size(); ++i) {
      if (world->refused.contains(requests[i].body.entry)) {
        report.outcomes[i].reason = "pretended";
        continue;
      }
      report.outcomes[i].placed = true;
      report.outcomes[i].borrowed = true;
      world->hits.sites[requests[i].id] = requests[i].body.entry;
      world->done.push_back("place " + std::to_string(requests[i].id));
    }
    return report;
  }
  void remove(uint32_t id) override {
    if (world->hits.sites.erase(id) != 0) world->done.push_back("remove " + std::to_string(id));
  }
  std::vector<LostSite> look() override { return std::exchange(world->lost, {}); }
  Result<size_t> withdraw() override {
    world->done.emplace_back("withdraw");
    return world->hits.sites.size();
  }
  void discard() override { world->done.emplace_back("discard"); }
  [[nodiscard]] StopTimes stops() const override { return {milliseconds(3), milliseconds(2)}; }
  [[nodiscard]] std::string remark() const override { return "it only pretends"; }
};

Result<std::unique_ptr<SitePlacer>> make_pretend(PlacerContext& /*context*/) {
  return std::make_unique<PretendPlacer>();
}

// The same hits, but all sites are refused.
class SpoiledPlacer final : public SitePlacer {
 public:
  HitSource& hits() override { return world->hits; }
  PlaceReport place(std::span<const SiteRequest> requests) override {
    PlaceReport report;
    report.outcomes.resize(requests.size());
    for (SiteOutcome& outcome : report.outcomes) outcome.reason = "spoiled";
    if (!world->lacks.empty()) {
      report.lacks = world->lacks;
      report.status = fail(ErrorKind::not_possible, "there is none");
    }
    return report;
  }
  void remove(uint32_t /*id*/) override {}
};

Result<std::unique_ptr<SitePlacer>> make_spoiled(PlacerContext& /*context*/) {
  return std::make_unique<SpoiledPlacer>();
}

Status at_most_two(size_t bodies, const CodeSource& /*source*/) {
  if (bodies <= 2) return {};
  return fail(ErrorKind::not_possible, "two, not more");
}

std::string never(const Process& /*process*/, const CodeSource& /*source*/) {
  return "it is never there";
}

const Backend pretend = {.name = "pretend", .automatic = true, .make = make_pretend};
const Backend spoiled = {
    .name = "spoiled", .changes_code = true, .automatic = true, .make = make_spoiled};
const Backend small = {
    .name = "small", .automatic = true, .check_number = at_most_two, .make = make_pretend};
const Backend absent = {
    .name = "absent", .automatic = true, .why_not = never, .make = make_pretend};

class BackendTest : public testing::Test {
 protected:
  void SetUp() override {
    world = &world_;
    auto process = Process::open(::getpid());
    ASSERT_TRUE(process) << to_string(process.error());
    process_.emplace(std::move(*process));
    source_.bodies = {test::code_body(first, test::method_name("T", "first")),
                      test::code_body(second, test::method_name("T", "second"))};
  }
  void TearDown() override { world = nullptr; }

  Result<std::unique_ptr<Tracer>> try_start(std::vector<const Backend*> backends) {
    backends_ = std::move(backends);
    TraceOptions options;
    options.patterns = {"T.*"};
    options.backends = backends_;
    options.backend = asked_for_;
    return Tracer::start(*process_, source_, options);
  }
  std::unique_ptr<Tracer> start(std::vector<const Backend*> backends) {
    auto tracer = try_start(std::move(backends));
    EXPECT_TRUE(tracer) << to_string(tracer.error());
    return tracer ? std::move(*tracer) : nullptr;
  }
  void step(Tracer& tracer) {
    const auto alive = tracer.step(milliseconds(1), [&](const TracedCall& call) {
      calls_.emplace_back(call.method, call.hit.registers[0]);
    });
    EXPECT_TRUE(alive && *alive);
  }
  // Until the trace has looked at its bodies once more.
  void step_until_looked(Tracer& tracer) {
    for (const size_t reads = source_.reads; source_.reads == reads;) step(tracer);
  }

  static constexpr uint64_t first = 0x1000;
  static constexpr uint64_t second = 0x2000;
  World world_;
  std::optional<Process> process_;
  test::FakeSource source_;
  std::vector<const Backend*> backends_;
  const Backend* asked_for_ = nullptr;
  std::vector<std::pair<size_t, uint64_t>> calls_;
};

TEST_F(BackendTest, TheTraceRunsWithHitsThatAreNotTheKernels) {
  auto tracer = start({&pretend});
  ASSERT_TRUE(tracer);
  EXPECT_EQ(tracer->started().sites, 2U);
  EXPECT_EQ(tracer->started().backend, "pretend");
  EXPECT_THAT(tracer->started().sites_by, ElementsAre(Pair("pretend", 2U)));
  EXPECT_THAT(tracer->started().notes, Contains("it only pretends"));
  world_.hits.call(first);
  world_.hits.call(second);
  world_.hits.call(first);
  step(*tracer);
  EXPECT_THAT(calls_, ElementsAre(Pair(0U, first), Pair(1U, second), Pair(0U, first)));
  const TraceReport report = tracer->finish({});
  EXPECT_EQ(report.methods.at(0).calls, 2U);
  EXPECT_EQ(report.methods.at(1).calls, 1U);
  EXPECT_EQ(report.methods.at(0).sites.at(0).backend, "pretend");
  EXPECT_EQ(report.entries_restored, 2U);
  EXPECT_EQ(report.stopped, milliseconds(3));
  EXPECT_EQ(report.longest_stop, milliseconds(2));
  EXPECT_THAT(world_.done,
              ElementsAre("place 0", "place 1", "withdraw", "remove 0", "remove 1", "discard"));
}

TEST_F(BackendTest, BodiesAreFollowed) {
  auto tracer = start({&pretend});
  ASSERT_TRUE(tracer);
  world_.hits.call(first);
  source_.bodies[0] = test::code_body(0x3000, source_.bodies[0].name, 2);
  step_until_looked(*tracer);
  world_.hits.call(first);
  world_.hits.call(0x3000);
  const TraceReport report = tracer->finish({});
  EXPECT_EQ(report.methods.at(0).calls, 2U);
  EXPECT_EQ(report.methods.at(0).sites.size(), 2U);
  EXPECT_GT(report.methods.at(0).sites.at(0).until_ns, 0U);
  // The new one first: nothing is missed while the old one goes.
  EXPECT_THAT(std::vector(world_.done.begin() + 2, world_.done.begin() + 4),
              ElementsAre("place 2", "remove 0"));
}

TEST_F(BackendTest, ALostSiteIsPlacedAgainAndSaysHowLongItSawNothing) {
  auto tracer = start({&pretend});
  ASSERT_TRUE(tracer);
  world_.hits.call(first);
  world_.hits.sites.erase(0);
  world_.lost = {{0, 42, "it went"}};
  step_until_looked(*tracer);
  world_.hits.call(first);
  const TraceReport report = tracer->finish({});
  const MethodReport& method = report.methods.at(0);
  EXPECT_EQ(method.calls, 2U);
  ASSERT_EQ(method.sites.size(), 2U);
  EXPECT_EQ(method.sites[0].until_ns, 42U);
  EXPECT_EQ(method.sites[0].reason, "it went");
  EXPECT_EQ(method.sites[1].unseen_ns, method.sites[1].since_ns - 42);
}

TEST_F(BackendTest, WhatTheFirstRefusesTheNextTakes) {
  world_.refused = {second};
  auto tracer = start({&spoiled, &absent, &pretend});
  ASSERT_TRUE(tracer);
  EXPECT_EQ(tracer->started().backend, "spoiled");
  EXPECT_EQ(tracer->started().backend_reason, "the runtime's code does not move");
  EXPECT_THAT(tracer->started().sites_by, ElementsAre(Pair("pretend", 1U)));
  EXPECT_THAT(tracer->started().notes, Contains("1 body not probed: spoiled; pretended"));
  world_.hits.call(first);
  const TraceReport report = tracer->finish({});
  EXPECT_EQ(report.methods.at(0).calls, 1U);
  EXPECT_EQ(report.methods.at(0).bodies_probed, 1U);
  EXPECT_EQ(report.methods.at(1).bodies_probed, 0U);
}

TEST_F(BackendTest, OneThatLacksWhatItNeedsMakesWayForGood) {
  world_.lacks = "no such thing";
  auto tracer = start({&spoiled, &small});
  ASSERT_TRUE(tracer);
  EXPECT_EQ(tracer->started().backend, "small");
  EXPECT_THAT(tracer->started().backend_reason, HasSubstr("no such thing: there is none"));
  tracer.reset();
  source_.bodies.push_back(test::code_body(0x3000, test::method_name("T", "third")));
  const auto too_many = try_start({&spoiled, &small});
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().what, "there is none");
}

TEST_F(BackendTest, RefusalsAreSaidAtTheChoice) {
  source_.fixed = false;
  auto tracer = start({&spoiled, &pretend});
  ASSERT_TRUE(tracer);
  EXPECT_EQ(tracer->started().backend, "pretend");
  EXPECT_EQ(tracer->started().backend_reason, "the test moves it");
  asked_for_ = &spoiled;
  auto refused = try_start({&spoiled, &pretend});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("the spoiled backend changes code"));
  asked_for_ = &absent;
  refused = try_start({&absent});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("it is never there"));
  asked_for_ = nullptr;
  refused = try_start({&absent});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::not_possible);
  EXPECT_EQ(refused.error().hint, "it is never there");
  source_.bodies.push_back(test::code_body(0x3000, test::method_name("T", "third")));
  refused = try_start({&small});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "two, not more");
  EXPECT_TRUE(std::ranges::count(world_.done, "place 2") == 0);
}

TEST_F(BackendTest, WhatAllCouldNotBePlacedForIsTriedAgain) {
  auto tracer = start({&pretend});
  ASSERT_TRUE(tracer);
  world_.broken = Error{ErrorKind::not_possible, "broken for a while", {}, {}, 0};
  source_.bodies.push_back(test::code_body(0x3000, source_.bodies[0].name, 2));
  step_until_looked(*tracer);
  EXPECT_FALSE(world_.hits.sites.contains(2));
  world_.broken.reset();
  step_until_looked(*tracer);
  EXPECT_TRUE(world_.hits.sites.contains(2));
  EXPECT_THAT(tracer->finish({}).notes, Contains(HasSubstr("broken for a while")));
}

TEST_F(BackendTest, CodeOfFilesGoesToWhatIsMadeForIt) {
  const Backend of_files = {
      .name = "filed", .takes = TakesCode::of_files, .automatic = true, .make = make_pretend};
  source_.bodies[1].file = std::make_shared<const CodeFile>();
  auto tracer = start({&of_files, &pretend});
  ASSERT_TRUE(tracer);
  EXPECT_EQ(tracer->started().backend, "pretend") << "of the JIT's code";
  EXPECT_THAT(tracer->started().sites_by, ElementsAre(Pair("filed", 1U), Pair("pretend", 1U)));
  const TraceReport report = tracer->finish({});
  EXPECT_EQ(report.methods.at(0).sites.at(0).backend, "pretend");
  EXPECT_EQ(report.methods.at(1).sites.at(0).backend, "filed");
}

TEST_F(BackendTest, WhereAllCodeIsOfFilesTheReasonSaysSo) {
  const Backend of_files = {
      .name = "filed", .takes = TakesCode::of_files, .automatic = true, .make = make_pretend};
  for (CodeBody& body : source_.bodies) body.file = std::make_shared<const CodeFile>();
  auto tracer = start({&of_files, &pretend});
  ASSERT_TRUE(tracer);
  EXPECT_EQ(tracer->started().backend, "filed");
  EXPECT_EQ(tracer->started().backend_reason, "the code is mapped from files");
}

TEST_F(BackendTest, WhatIsAskedForSaysWhichCodeItLeavesAlone) {
  const Backend in_memory = {
      .name = "memory", .takes = TakesCode::in_memory, .automatic = true, .make = make_pretend};
  asked_for_ = &in_memory;
  source_.bodies[1].file = std::make_shared<const CodeFile>();
  auto tracer = start({&in_memory, &pretend});
  ASSERT_TRUE(tracer);
  EXPECT_THAT(tracer->started().sites_by, ElementsAre(Pair("memory", 1U)));
  EXPECT_THAT(tracer->started().notes,
              Contains(HasSubstr("mapped from a file, which the memory backend leaves alone")));
}

TEST(Backends, AreKnownByName) {
  for (const Backend* each : all_backends()) {
    EXPECT_EQ(find_backend(each->name), each);
    EXPECT_NE(each->make, nullptr);
  }
  EXPECT_EQ(find_backend("auto"), nullptr);
  ASSERT_NE(find_backend("trampoline"), nullptr);
  const auto in_memory = std::ranges::find_if(
      all_backends(), [](const Backend* each) { return each->takes != TakesCode::of_files; });
  EXPECT_EQ(*in_memory, find_backend("trampoline")) << "the first choice for JIT code";
  EXPECT_FALSE(find_backend("inplace")->automatic);
}

}  // namespace
}  // namespace jitscope
