#include "runtimes/hotspot/vm_flags.h"

#include <gtest/gtest.h>

#include "fake_jvm.h"

namespace jitscope::hotspot::test {
namespace {

class VmFlagsTest : public testing::Test {
 protected:
  [[nodiscard]] VmStructs structs() {
    auto read = VmStructs::read(jvm, jvm.symbols());
    EXPECT_TRUE(read) << to_string(read.error());
    return std::move(*read);
  }
  FakeJvm jvm{FakeJvm::Style::offsets};
};

TEST_F(VmFlagsTest, ABoolByItsWholeName) {
  jvm.use_flags({{"UseSerialGCs", false}, {"UseSerialGC", true}, {"UseSerial", false}});
  EXPECT_EQ(*read_bool_flag(jvm, structs(), "UseSerialGC"), true);
  EXPECT_EQ(*read_bool_flag(jvm, structs(), "UseSerial"), false);
  EXPECT_EQ(*read_bool_flag(jvm, structs(), "Use"), std::nullopt);
}

TEST_F(VmFlagsTest, ATableThatMakesNoSenseIsAnError) {
  EXPECT_FALSE(read_bool_flag(jvm, structs(), "A"));  // not described
  jvm.use_flags({{"A", true}});
  for (const uint64_t count : {uint64_t{0}, uint64_t{10'001}, UINT64_MAX}) {
    jvm.put(jvm.flag_count(), count);
    EXPECT_FALSE(read_bool_flag(jvm, structs(), "A")) << count;
  }
}

TEST_F(VmFlagsTest, CodeOfOlderJvmsStaysWhereItIs) {
  EXPECT_EQ(why_code_may_move(jvm, structs()), "");
}

TEST_F(VmFlagsTest, CodeMovesWhereTheJvmWasToldToMoveIt) {
  const auto values = jvm.use_flags({{"A", true}, {"NMethodRelocation", false}});
  EXPECT_EQ(why_code_may_move(jvm, structs()), "");
  jvm.put(values[1], true);
  EXPECT_NE(why_code_may_move(jvm, structs()).find("moves compiled code"), std::string::npos);
  auto reader = HotspotReader::open(jvm, jvm.symbols(), CallConvention::hotspot_x86_64);
  ASSERT_TRUE(reader) << to_string(reader.error());
  EXPECT_NE(reader->why_code_may_move(), "");
}

TEST_F(VmFlagsTest, OptionsOfAJvmThatIsStartingSayNothingYet) {
  jvm.use_flags({{"NMethodRelocation", false}});
  uint64_t heaps = 0;
  ASSERT_TRUE(jvm.read(jvm.heaps_static(), std::as_writable_bytes(std::span(&heaps, 1))));
  jvm.put(heaps, int32_t{0});  // the array is there from the beginning, the heaps are not
  const auto reason = [&] {
    auto reader = HotspotReader::open(jvm, jvm.symbols(), CallConvention::hotspot_x86_64);
    EXPECT_TRUE(reader) << to_string(reader.error());
    return reader->why_code_may_move();
  };
  EXPECT_NE(reason().find("still starting"), std::string::npos);
  jvm.put(heaps, int32_t{1});
  EXPECT_EQ(reason(), "");
  // Between the two looks it has read them.
  jvm.put(heaps, int32_t{0});
  jvm.before_read = [&](uint64_t address) {
    if (address == jvm.flag_count()) jvm.put(heaps, int32_t{1});
  };
  EXPECT_NE(reason().find("still starting"), std::string::npos);
}

TEST_F(VmFlagsTest, AJvmThatCannotMoveCodeMayBeStarting) {
  EXPECT_EQ(why_code_may_move(jvm, structs(), false), "");
}

TEST_F(VmFlagsTest, NotKnowingIsNoReasonToPatch) {
  jvm.use_flags({{"A", true}});
  EXPECT_NE(why_code_may_move(jvm, structs()).find("not known"), std::string::npos);
  jvm.put(jvm.flag_count(), uint64_t{0});
  EXPECT_NE(why_code_may_move(jvm, structs()).find("not known"), std::string::npos);
}

}  // namespace
}  // namespace jitscope::hotspot::test
