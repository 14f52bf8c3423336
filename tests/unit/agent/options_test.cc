#include "agent/options.h"

#include <gtest/gtest.h>

namespace jitscope::agent {
namespace {

TEST(AgentOptions, TakeTheRestAsFolder) {
  EXPECT_EQ(parse_options("")->directory, "");
  EXPECT_EQ(parse_options("dir=/var/dumps")->directory, "/var/dumps");
  EXPECT_EQ(parse_options("dir=/with,comma=and blank")->directory, "/with,comma=and blank");
}

TEST(AgentOptions, RefuseWhatIsUnknown) {
  for (const char* text : {"dir", "dir=", "/var/dumps", "directory=/x", ",dir=/x"}) {
    const auto options = parse_options(text);
    ASSERT_FALSE(options) << text;
    EXPECT_EQ(options.error().kind, ErrorKind::usage) << text;
  }
}

TEST(AgentOptions, NonSafepointsAreOffWhenTheLastWordSaysSo) {
  using std::string_view_literals::operator""sv;
  EXPECT_FALSE(turns_off_non_safepoints(""));
  EXPECT_FALSE(turns_off_non_safepoints("java\0-XX:+DebugNonSafepoints\0Main\0"sv));
  EXPECT_TRUE(turns_off_non_safepoints("java\0-XX:-DebugNonSafepoints\0Main\0"sv));
  EXPECT_TRUE(turns_off_non_safepoints("-Xmx1g -XX:-DebugNonSafepoints"));
  EXPECT_FALSE(turns_off_non_safepoints("-XX:-DebugNonSafepoints -XX:+DebugNonSafepoints"));
  EXPECT_FALSE(turns_off_non_safepoints("-Dx=-XX:-DebugNonSafepoints"));
}

}  // namespace
}  // namespace jitscope::agent
