#include "runtimes/v8/v8_flags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace jitscope {
namespace {

V8Flags flags(const std::vector<std::string>& arguments, std::string_view node_options = {}) {
  return read_v8_flags(arguments, node_options);
}

TEST(V8Flags, FlagsThatHoldCodeInPlace) {
  EXPECT_TRUE(flags({"node", "--perf-basic-prof", "a.js"}).code_is_fixed);
  EXPECT_TRUE(flags({"node", "--perf_basic_prof", "a.js"}).code_is_fixed);
  EXPECT_TRUE(flags({"node", "-perf-basic-prof", "a.js"}).code_is_fixed);
  EXPECT_TRUE(flags({"node", "--perf-basic-prof-only-functions", "a.js"}).code_is_fixed);
  EXPECT_TRUE(flags({"node", "--perf_prof", "a.js"}).code_is_fixed);
  EXPECT_TRUE(flags({"node", "--perf-basic-prof", "a.js"}).writes_map);
  EXPECT_TRUE(flags({"node", "--perf_basic_prof_only_functions", "a.js"}).writes_map);
  EXPECT_FALSE(flags({"node", "--perf-prof", "a.js"}).writes_map);
}

TEST(V8Flags, OptionsOfNodeWithValues) {
  EXPECT_TRUE(flags({"node", "-r", "./x", "--perf-basic-prof", "a.js"}).code_is_fixed);
  EXPECT_TRUE(flags({"node", "--require=./x", "--perf-basic-prof", "a.js"}).code_is_fixed);
  EXPECT_TRUE(flags({"node", "-e", "code", "--perf-basic-prof"}).code_is_fixed);
  EXPECT_FALSE(flags({"node", "-e", "--perf-basic-prof"}).code_is_fixed);
}

TEST(V8Flags, OptionsOfTheScriptDoNotCount) {
  EXPECT_FALSE(flags({"node", "a.js", "--perf-basic-prof"}).code_is_fixed);
  EXPECT_FALSE(flags({"node", "--", "a.js", "--perf-basic-prof"}).code_is_fixed);
  EXPECT_FALSE(flags({"node"}).code_is_fixed);
  EXPECT_FALSE(flags({}).code_is_fixed);
  EXPECT_FALSE(flags({"--perf-basic-prof"}).code_is_fixed);
}

TEST(V8Flags, ContradictionsAreTheSafeAnswer) {
  EXPECT_FALSE(flags({"node", "--perf-basic-prof", "--no-perf-basic-prof"}).code_is_fixed);
  EXPECT_FALSE(flags({"node", "--perf-basic-prof", "--noperf-basic-prof"}).code_is_fixed);
  EXPECT_FALSE(flags({"node", "--perf-basic-prof", "--compact-code-space"}).code_is_fixed);
  EXPECT_FALSE(flags({"node", "--perf-basic-prof", "--stress_compaction"}).code_is_fixed);
  EXPECT_TRUE(flags({"node", "--perf-basic-prof", "--no-compact-code-space"}).code_is_fixed);
}

TEST(V8Flags, NodeOptions) {
  EXPECT_TRUE(flags({"node", "a.js"}, "--perf-basic-prof").code_is_fixed);
  EXPECT_TRUE(
      flags({"node", "a.js"}, " --max-old-space-size=99  \"--perf_basic_prof\" ").writes_map);
  EXPECT_FALSE(flags({"node", "a.js"}, "--max-old-space-size=99").code_is_fixed);
}

TEST(V8Flags, OtherPrograms) {
  EXPECT_TRUE(flags({"/opt/electron", "--js-flags=--expose-gc --perf-basic-prof"}).code_is_fixed);
  EXPECT_TRUE(flags({"deno", "run", "--v8-flags=--perf-basic-prof,--x", "a.ts"}).code_is_fixed);
}

TEST(V8Flags, MapDirectory) {
  EXPECT_EQ(flags({"node", "--perf-basic-prof-path=/run/maps", "a.js"}).map_directory, "/run/maps");
  EXPECT_EQ(flags({"node", "--perf_basic_prof_path", "/run/maps", "a.js"}).map_directory,
            "/run/maps");
  EXPECT_EQ(flags({"node", "--perf-basic-prof-path=maps", "a.js"}).map_directory, "");
}

}  // namespace
}  // namespace jitscope
