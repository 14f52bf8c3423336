#include "code/address_space.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace jitscope {
namespace {

MappedRange range(uint64_t start, uint64_t end, uint32_t file, uint64_t offset = 0) {
  MappedRange result;
  result.start = start;
  result.end = end;
  result.file = file;
  result.page_offset = offset;
  return result;
}

TEST(AddressSpace, KeepsBothEndsOfAMappingThatIsCutInTheMiddle) {
  AddressSpace space;
  ASSERT_TRUE(space.map(range(0x1000, 0x9000, 1, 0x100)));
  ASSERT_TRUE(space.map(range(0x3000, 0x4000, 2)));
  ASSERT_NE(space.at(0x2fff), nullptr);
  EXPECT_EQ(space.at(0x2fff)->file, 1U);
  EXPECT_EQ(space.at(0x3000)->file, 2U);
  ASSERT_NE(space.at(0x4000), nullptr);
  EXPECT_EQ(space.at(0x4000)->file, 1U);
  EXPECT_EQ(space.at(0x4000)->page_offset, 0x100U + 0x3000U);
  EXPECT_EQ(space.at(0x9000), nullptr);
  EXPECT_EQ(space.at(0xfff), nullptr);
}

TEST(AddressSpace, IgnoresEmptyAndWrappingRanges) {
  AddressSpace space;
  EXPECT_FALSE(space.map(range(0x1000, 0x1000, 1)));
  EXPECT_FALSE(space.map(range(UINT64_MAX - 10, 5, 1)));
  EXPECT_EQ(space.size(), 0U);
}

TEST(AddressSpace, ACopyIsIndependent) {
  AddressSpace parent;
  parent.map(range(0x1000, 0x2000, 1));
  AddressSpace child = parent;
  child.map(range(0x1000, 0x2000, 2));
  EXPECT_EQ(parent.at(0x1800)->file, 1U);
  EXPECT_EQ(child.at(0x1800)->file, 2U);
  const uint32_t before = child.generation();
  child.clear();
  EXPECT_NE(child.generation(), before);
  EXPECT_EQ(child.at(0x1800), nullptr);
  EXPECT_NE(parent.at(0x1800), nullptr);
}

TEST(AddressSpace, AgreesWithAnArrayOfPages) {
  std::mt19937 random(7);
  constexpr size_t pages = 200;
  AddressSpace space;
  std::vector<std::pair<uint32_t, uint64_t>> model(pages, {0, 0});
  for (int step = 0; step < 5000; ++step) {
    const uint64_t start = random() % pages;
    const uint64_t end = start + 1 + random() % (pages - start);
    const uint32_t file = 1 + static_cast<uint32_t>(step);
    const uint64_t offset = random() % 1000;
    space.map(range(start, end, file, offset));
    for (uint64_t page = start; page < end; ++page) model[page] = {file, offset + page - start};
    const uint64_t asked = random() % pages;
    const MappedRange* found = space.at(asked);
    if (model[asked].first == 0) {
      ASSERT_EQ(found, nullptr);
    } else {
      ASSERT_NE(found, nullptr);
      ASSERT_EQ(found->file, model[asked].first);
      ASSERT_EQ(found->page_offset + asked - found->start, model[asked].second);
    }
  }
}

}  // namespace
}  // namespace jitscope
