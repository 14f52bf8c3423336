// Which process a name means.
#include "runtimes/process_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace jitscope {
namespace {

TEST(JavaMain, IsTheFirstWordThatIsNoOption) {
  EXPECT_EQ(java_main({"-Xmx1g", "-cp", "a:b", "com.example.Main", "-x", "y"}), "com.example.Main");
  EXPECT_EQ(java_main({"-jar", "/srv/app.jar", "Main"}), "/srv/app.jar");
  EXPECT_EQ(java_main({"--module-path", "m", "-m", "mod/com.Main"}), "mod/com.Main");
  EXPECT_EQ(java_main({"--module=mod/com.Main"}), "mod/com.Main");
  EXPECT_EQ(java_main({"--class-path=x", "@file", "Main"}), "Main");
  EXPECT_EQ(java_main({"-version"}), "");
  EXPECT_EQ(java_main({"-cp"}), "");
  EXPECT_EQ(java_main({"-jar"}), "");
  EXPECT_EQ(java_main({}), "");
}

TEST(JavaMain, IsCalledByItsLastPartToo) {
  EXPECT_TRUE(is_java_main("Main", "com.example.Main"));
  EXPECT_TRUE(is_java_main("com.example.Main", "com.example.Main"));
  EXPECT_TRUE(is_java_main("Main", "mod/com.example.Main"));
  EXPECT_TRUE(is_java_main("app", "/srv/app.jar"));
  EXPECT_TRUE(is_java_main("app.jar", "/srv/app.jar"));
  EXPECT_FALSE(is_java_main("example.Main", "com.example.Main"));
  EXPECT_FALSE(is_java_main("jar", "/srv/app.jar"));
  EXPECT_FALSE(is_java_main("", ""));
}

TEST(ProcessCalled, NobodyHasTheName) {
  const auto found = process_called("no such process at all");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace jitscope
