#include "base/pair_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace jitscope {
namespace {

TEST(PairTable, AgreesWithAMap) {
  std::mt19937 random(3);
  PairTable table;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> model;
  for (uint32_t i = 0; i < 50'000; ++i) {
    const auto first = static_cast<uint32_t>(random() % 300);
    const auto second = static_cast<uint32_t>(random() % 300);
    uint32_t& value = table(first, second);
    const auto found = model.find({first, second});
    if (found == model.end()) {
      ASSERT_EQ(value, PairTable::kNone);
      value = i;
      model[{first, second}] = i;
    } else {
      ASSERT_EQ(value, found->second);
    }
  }
  EXPECT_EQ(table.size(), model.size());
}

TEST(PairTable, TellsThePartsOfAPairApart) {
  PairTable table;
  table(1, 2) = 12;
  EXPECT_EQ(table(2, 1), PairTable::kNone);
  table(2, 1) = 21;
  EXPECT_EQ(table(1, 2), 12U);
  EXPECT_EQ(table(2, 1), 21U);
}

}  // namespace
}  // namespace jitscope
