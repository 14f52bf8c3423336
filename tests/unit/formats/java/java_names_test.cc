#include "formats/java/java_names.h"

#include <gtest/gtest.h>

namespace jitscope::java {
namespace {

TEST(JavaNames, ParametersAsPeopleReadThem) {
  EXPECT_EQ(parameter_names("()V"), "");
  EXPECT_EQ(parameter_names("(ZCBSIJFD)V"), "boolean,char,byte,short,int,long,float,double");
  EXPECT_EQ(parameter_names("([[ILjava/util/Map$Entry;[Ljava/lang/String;)Ljava/lang/Object;"),
            "int[][],java.util.Map$Entry,java.lang.String[]");
}

TEST(JavaNames, MalformedDescriptors) {
  for (const char* text : {"", "I", "(", "(I", "(V)V", "(L;)V", "(Ljava/lang/String)V", "([)V"}) {
    EXPECT_EQ(parameter_names(text), std::nullopt) << text;
  }
  EXPECT_TRUE(parameter_names("(" + std::string(255, 'I') + ")V"));
  EXPECT_FALSE(parameter_names("(" + std::string(256, 'I') + ")V"));
  EXPECT_TRUE(parameter_names("(" + std::string(255, '[') + "I)V"));
  EXPECT_FALSE(parameter_names("(" + std::string(256, '[') + "I)V"));
}

TEST(JavaNames, OneTypeAtATime) {
  std::string_view rest = "[JLa/B;Z";
  const auto longs = take_field_type(rest);
  ASSERT_TRUE(longs);
  EXPECT_EQ(longs->code, 'J');
  EXPECT_EQ(longs->dimensions, 1U);
  EXPECT_EQ(longs->name, "long[]");
  EXPECT_EQ(take_field_type(rest)->name, "a.B");
  EXPECT_EQ(take_field_type(rest)->name, "boolean");
  EXPECT_FALSE(take_field_type(rest));
}

}  // namespace
}  // namespace jitscope::java
