#include "code/recorded_name.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

constexpr Tier kTiers[] = {Tier::unknown,  Tier::bytecode, Tier::baseline,   Tier::maglev,
                           Tier::turbofan, Tier::c1,       Tier::c1_limited, Tier::c1_full,
                           Tier::c2,       Tier::native,   Tier::stub};
constexpr Runtime kRuntimes[] = {Runtime::unknown, Runtime::hotspot, Runtime::v8,  Runtime::dotnet,
                                 Runtime::erlang,  Runtime::php,     Runtime::mono};

TEST(RecordedName, LooksAsDocumented) {
  EXPECT_EQ(encode_recorded_name("a.B.c(int)", Tier::c2, Runtime::hotspot), "a.B.c(int) [tier=c2]");
  EXPECT_EQ(encode_recorded_name("adapter", Tier::stub, Runtime::hotspot),
            "adapter [tier=stub,runtime=HotSpot]");
  EXPECT_EQ(encode_recorded_name("JS:*f a.js:1:2", Tier::turbofan, Runtime::v8),
            "JS:*f a.js:1:2 [tier=turbofan]");
  EXPECT_EQ(encode_recorded_name("py::f:a.py", Tier::unknown, Runtime::unknown), "py::f:a.py");
}

TEST(RecordedName, EverythingComesBack) {
  const std::string long_ending(100, 'x');
  const std::string names[] = {"",
                               "f",
                               "f]",
                               " [tier=c2]",
                               "f [tier=c2]",
                               "f [tier=c2] [tier=stub,runtime=V8]",
                               "f [tier=nonsense]",
                               "f [tier=c2,runtime=nonsense]",
                               "f [tier=",
                               "f [tier=]",
                               "f [tier=c2" + long_ending + "]",
                               "π.λ(int)"};
  for (const std::string& name : names) {
    for (const Tier tier : kTiers) {
      for (const Runtime runtime : kRuntimes) {
        const std::string text = encode_recorded_name(name, tier, runtime);
        const RecordedName back = decode_recorded_name(text);
        EXPECT_EQ(back.name, name) << text;
        EXPECT_EQ(back.tier, tier) << text;
        EXPECT_EQ(back.runtime, runtime) << text;
      }
    }
  }
}

TEST(RecordedName, ForeignNamesAreNames) {
  for (const std::string_view name :
       {"", "]", "java", "[tier=c2]", "f [tier=zz]", "f [tier=c2] ", "f[tier=c2]"}) {
    const RecordedName back = decode_recorded_name(name);
    EXPECT_EQ(back.name, name);
    EXPECT_EQ(back.tier, Tier::unknown);
    EXPECT_EQ(back.runtime, Runtime::unknown);
  }
}

TEST(RecordedName, NulsAndEndlessNames) {
  EXPECT_EQ(encode_recorded_name(std::string_view("a\0b", 3), Tier::c2, Runtime::hotspot),
            "ab [tier=c2]");
  const std::string text =
      encode_recorded_name(std::string(1 << 20, 'n'), Tier::c2, Runtime::hotspot);
  EXPECT_EQ(decode_recorded_name(text).name.size(), kLongestRecordedName);
  EXPECT_EQ(decode_recorded_name(text).tier, Tier::c2);
}

}  // namespace
}  // namespace jitscope
