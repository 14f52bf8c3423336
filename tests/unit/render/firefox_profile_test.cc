// The Firefox Profiler's tables: equal lengths, indices in range, stacks as the profile has them.
#include "render/firefox_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "sample_profile.h"

namespace jitscope {
namespace {

using Json = nlohmann::json;

void check_table(const Json& table, std::initializer_list<const char*> columns) {
  const size_t length = table["length"].get<size_t>();
  for (const char* column : columns) {
    ASSERT_TRUE(table.contains(column)) << column;
    EXPECT_EQ(table[column].size(), length) << column;
  }
  for (const auto& [name, column] : table.items()) {
    if (column.is_array()) {
      EXPECT_EQ(column.size(), length) << name;
    }
  }
}

void check_range(const Json& column, size_t end, bool may_be_null = false) {
  for (const Json& each : column) {
    if (may_be_null && (each.is_null() || each == -1)) continue;
    ASSERT_TRUE(each.is_number_unsigned()) << each;
    EXPECT_LT(each.get<size_t>(), end);
  }
}

void check_thread(const Json& file, const Json& thread) {
  for (const char* key : {"name", "processType", "pid"})
    EXPECT_TRUE(thread[key].is_string()) << key;
  EXPECT_TRUE(thread["isMainThread"].is_boolean());
  const size_t strings = thread["stringArray"].size();
  const Json& stacks = thread["stackTable"];
  const Json& frames = thread["frameTable"];
  const Json& functions = thread["funcTable"];
  const Json& resources = thread["resourceTable"];
  check_table(thread["samples"], {"stack", "time", "weight"});
  check_table(stacks, {"frame", "prefix"});
  check_table(frames, {"address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol",
                       "innerWindowID", "line", "column"});
  check_table(functions, {"name", "isJS", "relevantForJS", "resource", "fileName", "lineNumber",
                          "columnNumber"});
  check_table(resources, {"lib", "name", "host", "type"});
  check_table(thread["nativeSymbols"], {"address", "functionSize", "libIndex", "name"});
  check_table(thread["markers"], {"category", "data", "endTime", "name", "phase", "startTime"});
  check_range(thread["samples"]["stack"], stacks["length"], true);
  check_range(stacks["frame"], frames["length"]);
  for (size_t i = 0; i < stacks["prefix"].size(); ++i) {
    const Json& prefix = stacks["prefix"][i];
    if (!prefix.is_null()) {
      EXPECT_LT(prefix.get<size_t>(), i) << "callers stand before callees";
    }
  }
  check_range(frames["func"], functions["length"]);
  for (size_t i = 0; i < frames["category"].size(); ++i) {
    const size_t category = frames["category"][i];
    ASSERT_LT(category, file["meta"]["categories"].size());
    EXPECT_LT(frames["subcategory"][i].get<size_t>(),
              file["meta"]["categories"][category]["subcategories"].size());
  }
  check_range(functions["name"], strings);
  check_range(functions["fileName"], strings, true);
  check_range(functions["resource"], resources["length"], true);
  check_range(resources["name"], strings);
  check_range(resources["lib"], file["libs"].size());
  double last = 0;
  for (const Json& time : thread["samples"]["time"]) {
    EXPECT_GE(time.get<double>(), last);
    last = time.get<double>();
  }
}

Json parsed(const Profile& profile) {
  Json file = Json::parse(firefox_profile(profile));
  EXPECT_EQ(file["meta"]["preprocessedProfileVersion"], 54);
  EXPECT_EQ(file["meta"]["categories"][0]["name"], "Other");
  EXPECT_EQ(file["meta"]["categories"][0]["color"], "grey");
  for (const Json& category : file["meta"]["categories"]) {
    EXPECT_EQ(category["subcategories"][0], "Other");
  }
  for (const Json& thread : file["threads"]) check_thread(file, thread);
  return file;
}

std::string stack_of(const Json& thread, size_t sample) {
  std::string names;
  for (Json stack = thread["samples"]["stack"][sample]; !stack.is_null();
       stack = thread["stackTable"]["prefix"][stack.get<size_t>()]) {
    const size_t frame = thread["stackTable"]["frame"][stack.get<size_t>()];
    const size_t function = thread["frameTable"]["func"][frame];
    const size_t name = thread["funcTable"]["name"][function];
    names += thread["stringArray"][name].get<std::string>() + ";";
  }
  return names;
}

TEST(FirefoxProfile, TablesOfEveryThread) {
  const Json file = parsed(test::sample_profile());
  std::map<std::string, uint64_t> weights;
  for (const Json& thread : file["threads"]) {
    uint64_t sum = 0;
    for (const Json& weight : thread["samples"]["weight"]) sum += weight.get<uint64_t>();
    weights[thread["name"]] = sum;
  }
  EXPECT_THAT(weights, testing::UnorderedElementsAre(testing::Pair("java (cpu-clock)", 76),
                                                     testing::Pair("java (page-faults)", 3),
                                                     testing::Pair("C2 Compiler (cpu-clock)", 24),
                                                     testing::Pair("node (cpu-clock)", 20)));
  const Json& compiler = file["threads"][1];
  EXPECT_EQ(stack_of(compiler, 0), "Node::grow(unsigned int);Compile::Code_Gen();start_thread;");
  EXPECT_EQ(compiler["pid"], "100");
  EXPECT_EQ(compiler["tid"], 101);
  EXPECT_EQ(compiler["isMainThread"], false);
  EXPECT_EQ(file["threads"][0]["isMainThread"], true);
}

TEST(FirefoxProfile, CategoriesSayKindAndTier) {
  const Json file = parsed(test::sample_profile());
  std::map<std::string, std::string> found;
  for (const Json& thread : file["threads"]) {
    for (size_t i = 0; i < thread["frameTable"]["length"].get<size_t>(); ++i) {
      const Json& category =
          file["meta"]["categories"][thread["frameTable"]["category"][i].get<size_t>()];
      const size_t function = thread["frameTable"]["func"][i];
      const size_t name = thread["funcTable"]["name"][function];
      found[thread["stringArray"][name].get<std::string>()] =
          category["name"].get<std::string>() + "/" +
          category["subcategories"][thread["frameTable"]["subcategory"][i].get<size_t>()]
              .get<std::string>();
    }
  }
  EXPECT_EQ(found["start_thread"], "Native/Other");
  EXPECT_EQ(found["handle /srv/app/server.js:12:7"], "JIT/turbofan");
  EXPECT_EQ(found["java.util.HashMap.hash(java.lang.Object)"], "JIT inlined/c2");
  EXPECT_EQ(found["entry_SYSCALL_64"], "Kernel/Other");
  EXPECT_EQ(found["[unknown]"], "Unknown/Other");
}

TEST(FirefoxProfile, TimesOfTheTimeline) {
  Profile profile = test::sample_profile();
  const StackId stack = profile.stacks[0].stack;
  profile.timeline = {{5'000'000'000, 0, 0, stack, 1, 0},
                      {5'001'500'000, 0, 0, kRootStack, 1, 0},
                      {5'900'000'001, 0, 0, stack, 1, 0}};
  const Json file = parsed(profile);
  ASSERT_EQ(file["threads"].size(), 1u);
  const Json& samples = file["threads"][0]["samples"];
  EXPECT_EQ(samples["time"], Json({0.0, 1.5, 900.000001}));
  EXPECT_TRUE(samples["stack"][1].is_null());
  EXPECT_EQ(samples["stack"][0], samples["stack"][2]);
}

TEST(FirefoxProfile, Empty) {
  EXPECT_TRUE(parsed(Profile{})["threads"].empty());
}

}  // namespace
}  // namespace jitscope
