// The page's data says what the profile says, and no name leaves the data block. That a browser
// draws it: tests/e2e/flame_page_test.py.
#include "render/flame_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "render/folded.h"
#include "sample_profile.h"

namespace jitscope {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::string block(const std::string& page) {
  const std::string_view open = R"(<script type="application/json" id="data">)";
  const size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

std::vector<uint64_t> varints(const std::string& text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (c == '=') break;
    bits = bits << 6U | static_cast<uint32_t>(digits.find(c));
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xffU);
    }
  }
  std::vector<uint64_t> numbers;
  uint64_t value = 0;
  unsigned shift = 0;
  for (const char c : bytes) {
    value |= (static_cast<uint64_t>(c) & 0x7fU) << shift;
    shift += 7;
    if ((static_cast<unsigned char>(c) & 0x80U) == 0) {
      numbers.push_back(value);
      value = shift = 0;
    }
  }
  return numbers;
}

// "comm side event: a;b;c" -> samples.
std::map<std::string, uint64_t> stacks_of(const Json& data) {
  const std::vector<uint64_t> nodes = varints(data["nodes"]);
  EXPECT_EQ(nodes.size(), 2 * data["nodeCount"].get<size_t>());
  std::vector<std::string> paths{""};
  std::vector<size_t> parents{0};
  size_t at = 0;
  for (size_t i = 0; i < nodes.size(); i += 2) {
    for (uint64_t up = nodes[i + 1]; up > 0; --up) at = parents[at];
    const std::string name = data["strings"][data["frames"]["method"].at(nodes[i]).get<size_t>()];
    parents.push_back(at);
    paths.push_back(paths[at] + ";" + name);
    at = paths.size() - 1;
  }
  const std::vector<uint64_t> entries = varints(data["entries"]);
  EXPECT_EQ(entries.size(), 6 * data["entryCount"].get<size_t>());
  std::map<std::string, uint64_t> stacks;
  size_t node = 0;
  for (size_t i = 0; i + 5 < entries.size(); i += 6) {
    node += entries[i];
    const Json& group = data["groups"].at(entries[i + 1]);
    const std::string key =
        group["comm"].get<std::string>() + " " + std::to_string(entries[i + 3]) + " " +
        data["events"].at(entries[i + 2])["name"].get<std::string>() + ": " + paths.at(node);
    stacks[key] += entries[i + 4];
  }
  return stacks;
}

TEST(FlamePage, DataIsTheProfile) {
  const Profile profile = test::sample_profile();
  const Json data = Json::parse(block(flame_page(profile)));
  std::map<std::string, uint64_t> wanted;
  for (const StackWeight& each : profile.stacks) {
    std::string path;
    for (const FrameId frame : profile.frames_of(each.stack)) {
      std::string name = profile.frames[frame].method;
      if (const size_t bad = name.find('\xff'); bad != std::string::npos) {
        name.replace(bad, 1, "\xef\xbf\xbd");
      }
      path = ";" + name + path;
    }
    wanted[profile.groups[each.group].comm + " 0 " + profile.events[each.event].name + ": " +
           path] += each.samples;
  }
  EXPECT_EQ(stacks_of(data), wanted);
  const size_t frames = data["frames"]["method"].size();
  for (const auto& [name, column] : data["frames"].items())
    EXPECT_EQ(column.size(), frames) << name;
  EXPECT_EQ(data["lost"], 4);
}

TEST(FlamePage, NamesStayInTheDataBlock) {
  Profile profile = test::sample_profile();
  profile.command = "</title><script>alert(2)</script>{{data}}";
  const std::string page = flame_page(profile);
  EXPECT_THAT(page, Not(HasSubstr("<img src=x")));
  EXPECT_THAT(page, Not(HasSubstr("alert(2)</script>")));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/title&gt;&lt;script&gt;"));
  EXPECT_THAT(block(page), Not(HasSubstr("<")));
  EXPECT_THAT(Json::parse(block(page))["title"].get<std::string>(), HasSubstr("{{data}}"));
  for (const std::string_view place : {"{{title}}", "{{style}}", "{{script}}"}) {
    EXPECT_THAT(page, Not(HasSubstr(place)));
  }
}

TEST(FlamePage, NothingComesFromANetwork) {
  const std::string page = flame_page(Profile{});
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const std::string_view word : {"http://", "https://", "src=", "@import", "url(", "fetch(",
                                      "innerHTML", "insertAdjacentHTML", "eval("}) {
    EXPECT_THAT(page, Not(HasSubstr(word)));
  }
}

TEST(FlamePage, LinesOfAMethodAreOneFrameUnlessSplit) {
  test::ProfileBuilder b;
  b.profile.events = {{"samples", "count"}};
  b.profile.groups = {{1, 1, "a", "a"}};
  for (const uint32_t line : {12U, 40U, 17U}) {
    Frame frame = test::named("m", "x", FrameKind::jit, NameSource::jitdump);
    frame.file = "m.js";
    frame.line = line;
    b.add(0, b.stack({b.frame(frame)}), line);
  }
  const Json joined = Json::parse(block(flame_page(b.profile)));
  EXPECT_EQ(joined["nodeCount"], 1);
  EXPECT_EQ(joined["entryCount"], 1);
  EXPECT_EQ(joined["frames"]["line"], Json({12}));
  EXPECT_EQ(joined["frames"]["lastLine"], Json({40}));
  FlameOptions options;
  options.split_lines = true;
  EXPECT_EQ(Json::parse(block(flame_page(b.profile, options)))["nodeCount"], 3);
}

TEST(FlamePage, TwoProfilesInOneTree) {
  Diagnostics diagnostics;
  const Profile before = parse_folded("main;a_[j] 3\nmain;b 2\nmain;gone 1\n", diagnostics);
  const Profile after = parse_folded("main;b 7\nmain;a 4\nmain;new;a_[j] 1\n", diagnostics);
  FlameDiffOptions options;
  options.before_name = "old";
  const Json data = Json::parse(block(flame_diff_page(before, after, options)));
  EXPECT_EQ(data["sides"], Json({"old", "after"}));
  EXPECT_THAT(
      stacks_of(data),
      testing::UnorderedElementsAre(
          testing::Pair(" 0 samples: ;main;a", 3), testing::Pair(" 1 samples: ;main;a", 4),
          testing::Pair(" 0 samples: ;main;b", 2), testing::Pair(" 1 samples: ;main;b", 7),
          testing::Pair(" 0 samples: ;main;gone", 1), testing::Pair(" 1 samples: ;main;new;a", 1)));
  EXPECT_EQ(data["nodeCount"], 6);
}

}  // namespace
}  // namespace jitscope
