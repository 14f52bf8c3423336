#include "runtimes/hotspot/agent_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace jitscope {
namespace {

using testing::HasSubstr;

// Answers of JDK 8, 17 and 25, without the line of the attach protocol's own code.
TEST(AgentLoader, CodesOfTheAgent) {
  EXPECT_EQ(parse_load_answer("0\n").value(), 0);
  EXPECT_EQ(parse_load_answer("return code: 0\n").value(), 0);
  EXPECT_EQ(parse_load_answer("return code: 201\n").value(), 201);
  EXPECT_EQ(parse_load_answer("return code: -1\r\n").value(), -1);
  EXPECT_EQ(parse_load_answer("203").value(), 203);
  EXPECT_EQ(parse_load_answer("").value(), 0);
  EXPECT_EQ(parse_load_answer("\n").value(), 0);
  EXPECT_EQ(parse_load_answer("WARNING: something\nreturn code: 0\n").value(), 0);
}

TEST(AgentLoader, AnswersThatAreNoCode) {
  for (const char* text :
       {"/a.so was not loaded.\n/a.so: cannot open shared object file: No such file or directory\n",
        "Agent_OnAttach is not available in /lib/libz.so.1\n",
        "Dynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading to launch target "
        "VM.\n",
        "return code: \n", "return code: 99999999999\n", "return code: 1x\n", "x\n"}) {
    const auto code = parse_load_answer(text);
    ASSERT_FALSE(code) << text;
    EXPECT_EQ(code.error().kind, ErrorKind::not_possible);
    EXPECT_THAT(code.error().what, HasSubstr("did not load"));
  }
  EXPECT_LT(parse_load_answer(std::string(100'000, 'x')).error().what.size(), 1000U);
}

}  // namespace
}  // namespace jitscope
