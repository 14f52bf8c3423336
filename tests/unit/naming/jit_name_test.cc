#include "naming/jit_name.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

TEST(JitName, AgentsThatWriteDescriptors) {
  const JitName name = jit_name(Runtime::unknown, "Lcom/example/Shop$Item;total([IJ)V", false);
  EXPECT_EQ(name.method, "com.example.Shop$Item.total(int[],long)");
  EXPECT_EQ(name.raw, "Lcom/example/Shop$Item;total([IJ)V");
  EXPECT_EQ(name.kind, FrameKind::jit);
}

TEST(JitName, NamesWithParentheses) {
  EXPECT_EQ(jit_name(Runtime::unknown, "La/B;even (number)(I)V", false).method,
            "a.B.even (number)(int)");
  EXPECT_EQ(jit_name(Runtime::hotspot, "a.B.even (number)(int) [tier=c2]", true).method,
            "a.B.even (number)(int)");
  EXPECT_EQ(jit_name(Runtime::hotspot, "int a.B.even (number)(int)", false).method,
            "a.B.even (number)(int)");
}

TEST(JitName, V8MarksGiveTheTier) {
  EXPECT_EQ(jit_name(Runtime::v8, "JS:*handle /srv/app.js:3:10", false).tier, Tier::turbofan);
  const JitName interpreted = jit_name(Runtime::v8, "JS:~handle /srv/app.js:3:10", false);
  EXPECT_EQ(interpreted.kind, FrameKind::interpreted);
  EXPECT_EQ(interpreted.method, jit_name(Runtime::v8, "JS:*handle /srv/app.js:3:10", false).method);
  EXPECT_EQ(jit_name(Runtime::v8, "Builtin:ArrayMap", false).kind, FrameKind::runtime);
}

TEST(JitName, UnknownSpellingsStayWhole) {
  for (const char* raw : {"func_12", "LBroken;(", "L;x(I)V", "Lcom/A;::run", "a;b"}) {
    const JitName name = jit_name(Runtime::unknown, raw, false);
    EXPECT_EQ(name.raw, raw);
    EXPECT_FALSE(name.method.empty());
  }
}

}  // namespace
}  // namespace jitscope
