#include "code/display_name.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

struct Case {
  const char* display;
  const char* type;
  const char* function;
  const char* parameters;  // null: none
};

TEST(DisplayName, Parts) {
  for (const Case& each : {
           Case{"java.util.HashMap.put(java.lang.Object,int)", "java.util.HashMap", "put",
                "java.lang.Object,int"},
           Case{"T.f()", "T", "f", ""},
           Case{"T.even (number)(int)", "T", "even (number)", "int"},
           Case{"T.a)b(((int)", "T", "a)b((", "int"},
           Case{"My (odd) T.f(p.Q (x),int)", "My (odd) T", "f", "p.Q (x),int"},
           Case{"hot0", "", "hot0", nullptr},
           Case{"T.f", "T", "f", nullptr},
           Case{"f)", "", "f)", nullptr},
           Case{"", "", "", nullptr},
           Case{"()", "", "", ""},
       }) {
    const DisplayParts parts = split_display(each.display);
    EXPECT_EQ(parts.type, each.type) << each.display;
    EXPECT_EQ(parts.function, each.function) << each.display;
    EXPECT_EQ(parts.has_parameters, each.parameters != nullptr) << each.display;
    if (each.parameters != nullptr) {
      EXPECT_EQ(parts.parameters, each.parameters);
    }
  }
}

TEST(DisplayName, BlanksAroundCommas) {
  EXPECT_EQ(compact_parameters("int, java.lang.String , long"), "int,java.lang.String,long");
  EXPECT_EQ(compact_parameters(" p.My Type, int "), "p.My Type,int");
  EXPECT_EQ(compact_parameters(""), "");
  EXPECT_EQ(compact_parameters(" , ,"), ",,");
}

}  // namespace
}  // namespace jitscope
