// A runtime that there is not: what the recipe "add a runtime" of CONTRIBUTING.md promises of a
// row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/advice.h"
#include "runtimes/all_runtimes.h"
#include "runtimes/common/perf_map_bodies.h"
#include "runtimes/detect.h"
#include "runtimes/runtime_kind.h"

namespace jitscope {
namespace {

constexpr auto kPretended = static_cast<Runtime>(200);

// "toy/Module/function"
MapName parse(std::string_view raw) {
  MapName out = whole_map_name(raw);
  constexpr std::string_view prefix = "toy/";
  if (!raw.starts_with(prefix)) return stub_map_name(raw);
  const std::string_view rest = raw.substr(prefix.size());
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return out;
  out.name.type = rest.substr(0, slash);
  out.name.function = rest.substr(slash + 1);
  return out;
}

constexpr std::array kPrograms = {RuntimeProgram{.name = "Toy",
                                                 .files = {"toyvm", "libtoy-"},
                                                 .how_to_name = "start it with --toy-map",
                                                 .since = {2, 0},
                                                 .older = "Toy before 2.0 writes nothing",
                                                 .older_never = true}};
constexpr std::array kAdvice = {ReasonAdvice{NoName::no_line_there, "toys write late"}};
constexpr RuntimeRow kToy = {.runtime = kPretended,
                             .programs = kPrograms,
                             .parse = parse,
                             .how_to_map = "start toyvm with --toy-map",
                             .map_tells_entries = false,
                             .advice = kAdvice};

TEST(PretendRuntime, ItsRowIsAllThatIsNeeded) {
  const std::string path = "/opt/toy/lib/libtoy-1.7.so";
  EXPECT_EQ(runtime_of_file(path), Runtime::unknown);
  const ExtraRuntime toy(kToy);
  EXPECT_EQ(runtime_of_file(path), kPretended);
  EXPECT_EQ(runtime_of_file("/usr/bin/toyvm"), kPretended);
  EXPECT_EQ(runtime_of_file("/usr/bin/toyvmish"), Runtime::unknown);

  RuntimeKind old;
  old.see(path);
  EXPECT_EQ(old.name(), "Toy");
  EXPECT_TRUE(old.hopeless());
  EXPECT_EQ(RuntimeKind(kPretended).how_to_name(),
            "start it with --toy-map; Toy before 2.0 writes nothing");
  EXPECT_EQ(RuntimeKind(kPretended).how_to_map(), "start toyvm with --toy-map");

  EXPECT_EQ(parse_map_name(kPretended, "toy/Shop/total").name.display(), "Shop.total");
  EXPECT_EQ(parse_map_name(kPretended, "gc").tier, Tier::stub);

  Diagnostics diagnostics;
  PerfMapBodies bodies(row_of(kPretended), SourceKind::perf_map);
  bodies.add({0x1000, 0x40, "toy/Shop/total", 1}, diagnostics);
  Mapping memory;
  memory.start = 0x1000;
  memory.end = 0x2000;
  memory.executable = true;
  const auto alive = bodies.alive({memory}, diagnostics);
  ASSERT_EQ(alive.size(), 1U);
  EXPECT_EQ(alive[0].name->type, "Shop");
  EXPECT_EQ(alive[0].entry, 0U) << "its maps do not tell entries";

  EXPECT_EQ(advice_for(NoName::no_line_there, kPretended), "toys write late");
  EXPECT_EQ(advice_for(NoName::no_mapping, kPretended), advice_of(NoName::no_mapping));
}

TEST(PretendRuntime, IsGoneWithTheTest) {
  EXPECT_EQ(runtime_of_file("/usr/bin/toyvm"), Runtime::unknown);
  EXPECT_EQ(&row_of(kPretended), &row_of(Runtime::unknown));
}

}  // namespace
}  // namespace jitscope
