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

TEST(JavaNames, DescriptorsBehindNames) {
  EXPECT_EQ(descriptor_at_end("put(Ljava/lang/Object;I)V"), 3U);
  EXPECT_EQ(descriptor_at_end("even (number)(I)I"), 13U);
  EXPECT_EQ(descriptor_at_end("a)b(((Lp/A (x);)[J"), 5U);
  EXPECT_EQ(descriptor_at_end("f(I)V()V"), 5U);
  EXPECT_EQ(descriptor_at_end("()V"), 0U);
  for (const char* none : {"", "even (number)", "f", "f(", "f()", "f()VV", "f(I)", "f(;)V"}) {
    EXPECT_EQ(descriptor_at_end(none), std::string_view::npos) << none;
  }
  EXPECT_EQ(descriptor_at_end(std::string(100'000, '(')), std::string_view::npos);
}

TEST(JavaNames, NamesOfClassesAndMethods) {
  EXPECT_TRUE(is_class_name("p/My (odd) Class"));
  EXPECT_TRUE(is_method_name("even (number)"));
  for (const char* bad : {"", "a.b", "a;", "[I"}) {
    EXPECT_FALSE(is_class_name(bad)) << bad;
    EXPECT_FALSE(is_method_name(bad)) << bad;
  }
  EXPECT_FALSE(is_method_name("a/b"));
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
