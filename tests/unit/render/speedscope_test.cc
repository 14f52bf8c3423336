// speedscope's file format: indices in range, as many weights as samples, times in order.
#include "render/speedscope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sample_profile.h"

namespace jitscope {
namespace {

using Json = nlohmann::json;

void check_structure(const Json& file) {
  EXPECT_EQ(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
  const size_t frames = file["shared"]["frames"].size();
  for (const Json& frame : file["shared"]["frames"]) {
    EXPECT_TRUE(frame["name"].is_string());
    if (frame.contains("line")) {
      EXPECT_TRUE(frame["line"].is_number_unsigned());
    }
  }
  for (const Json& profile : file["profiles"]) {
    EXPECT_EQ(profile["type"], "sampled");
    EXPECT_TRUE(profile["unit"] == "nanoseconds" || profile["unit"] == "none");
    ASSERT_EQ(profile["samples"].size(), profile["weights"].size());
    uint64_t sum = 0;
    for (const Json& weight : profile["weights"]) sum += weight.get<uint64_t>();
    EXPECT_EQ(profile["startValue"], 0);
    EXPECT_EQ(profile["endValue"], sum);
    for (const Json& stack : profile["samples"]) {
      for (const Json& frame : stack) EXPECT_LT(frame.get<size_t>(), frames);
    }
  }
}

std::string names_of(const Json& file, const Json& stack) {
  std::string names;
  for (const Json& frame : stack) {
    names += file["shared"]["frames"][frame.get<size_t>()]["name"].get<std::string>() + ";";
  }
  return names;
}

TEST(Speedscope, EachThreadAndEvent) {
  const Json file = Json::parse(speedscope_json(test::sample_profile(), {.name = "a \"name\""}));
  check_structure(file);
  EXPECT_EQ(file["name"], "a \"name\"");
  std::vector<std::string> names;
  for (const Json& profile : file["profiles"]) names.push_back(profile["name"]);
  EXPECT_THAT(names,
              testing::ElementsAre("java-100/100 (cpu-clock)", "C2 Compiler-100/101 (cpu-clock)",
                                   "node-200/200 (cpu-clock)", "java-100/100 (page-faults)"));
  const Json& compiler = file["profiles"][1];
  EXPECT_EQ(compiler["unit"], "nanoseconds");
  EXPECT_EQ(compiler["endValue"], 240'000'000);
  EXPECT_EQ(names_of(file, compiler["samples"][0]),
            "start_thread;Compile::Code_Gen();Node::grow(unsigned int);");
  EXPECT_EQ(file["profiles"][3]["unit"], "none");
}

TEST(Speedscope, TimelineIsInOrderAndNeighboursAreJoined) {
  Profile profile = test::sample_profile();
  const StackId a = profile.stacks[0].stack;
  const StackId b = profile.stacks[1].stack;
  profile.timeline = {{10, 0, 0, a, 5, 0},
                      {20, 1, 0, b, 1, 0},
                      {30, 0, 0, a, 6, 1},
                      {40, 0, 0, b, 7, 0},
                      {50, 0, 0, a, 8, 0}};
  const Json file = Json::parse(speedscope_json(profile));
  check_structure(file);
  EXPECT_EQ(file["name"], "jitscope record -a -g");
  EXPECT_EQ(file["profiles"][0]["weights"], Json({11, 7, 8}));
  EXPECT_EQ(file["profiles"][0]["samples"][0], file["profiles"][0]["samples"][2]);
  EXPECT_EQ(file["profiles"][1]["weights"], Json({1}));
}

TEST(Speedscope, Empty) {
  const Json file = Json::parse(speedscope_json(Profile{}));
  EXPECT_TRUE(file["profiles"].empty());
}

}  // namespace
}  // namespace jitscope
