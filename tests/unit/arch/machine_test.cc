#include "arch/machine.h"

#include <gtest/gtest.h>

#include <vector>

namespace jitscope::machine {
namespace {

std::vector<std::byte> code(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(Machine, JumpsLeadBothWays) {
  EXPECT_EQ(jump_target(0x1000, code({0xe9, 0x10, 0, 0, 0})), 0x1015U);
  EXPECT_EQ(jump_target(0x1000, code({0xe9, 0xfb, 0xff, 0xff, 0xff})), 0x1000U);
  EXPECT_EQ(jump_target(0x1000, code({0xe9, 0x10, 0, 0})), 0U) << "cut";
  EXPECT_EQ(jump_target(0x1000, code({0xeb, 0x10, 0, 0, 0})), 0U);
  EXPECT_FALSE(begins_with_jump({}));
  EXPECT_TRUE(begins_with_trap(code({0xcc})));
  EXPECT_FALSE(begins_with_trap({}));
}

TEST(Machine, EntriesOfMethods) {
  const auto bang = code({0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff, 0x55});
  const auto leaf = code({0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10});
  const auto plain_leaf = code({0x48, 0x83, 0xec, 0x18, 0x90, 0x90, 0x90, 0x90});
  const auto push = code({0x55, 0x48, 0x8b, 0xec, 0x90, 0x90, 0x90, 0x90});
  const auto other = code({0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90});
  EXPECT_TRUE(is_hotspot_entry(bang) && is_patchable_hotspot_entry(bang));
  EXPECT_TRUE(is_hotspot_entry(leaf) && is_patchable_hotspot_entry(leaf));
  EXPECT_TRUE(is_hotspot_entry(plain_leaf) && !is_patchable_hotspot_entry(plain_leaf));
  EXPECT_TRUE(is_hotspot_entry(push) && !is_patchable_hotspot_entry(push));
  EXPECT_FALSE(is_hotspot_entry(other) || is_patchable_hotspot_entry(other));
  EXPECT_FALSE(is_patchable_hotspot_entry(std::span(leaf).first(4)));
}

}  // namespace
}  // namespace jitscope::machine
