#include "formats/pe/runtime_functions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/pe_builder.h"
#include "unit/formats/pe/pe_test_image.h"

namespace jitscope {
namespace {

constexpr uint32_t kPdata = 0x2000;
constexpr uint32_t kXdata = 0x3000;  // a primary's, and at +4 that of a piece of 0x1000
constexpr uint32_t kPiece = kXdata + 4;

test::PeBuilder with_rows(const std::vector<PeFunctionRow>& rows) {
  test::LittleBytes pdata;
  for (const PeFunctionRow& row : rows) pdata.u32(row.begin).u32(row.end).u32(row.unwind);
  test::LittleBytes xdata;
  xdata.u8(1).zeros(3).u8(1 | 4U << 3U).zeros(3).u32(0x1000).u32(0x1010).u32(kXdata);
  test::PeBuilder pe;
  pe.sections = {{".text", 0x1000, std::string(0x200, '\xcc')},
                 {".pdata", kPdata, pdata.bytes(), 0, 0, 0x40000040},
                 {".xdata", kXdata, xdata.bytes(), 0, 0, 0x40000040}};
  pe.directories[3] = {kPdata, static_cast<uint32_t>(pdata.size())};
  return pe;
}

TEST(RuntimeFunctions, PiecesBelongToTheirFunction) {
  const test::PeFile file(
      with_rows({{0x1000, 0x1010, kXdata}, {0x1010, 0x1020, kPiece}, {0x1030, 0x1040, kXdata}}));
  const auto functions = RuntimeFunctions::parse(*file);
  ASSERT_TRUE(functions);
  EXPECT_EQ(functions->all().size(), 3U);
  EXPECT_EQ(functions->at(0xfff), nullptr);
  EXPECT_EQ(functions->at(0x1020), nullptr);
  EXPECT_EQ(functions->at(0x1040), nullptr);
  const RuntimeFunction* piece = functions->at(0x101f);
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(piece->function, 0x1000U);
  EXPECT_EQ(piece->begin, 0x1010U);
  EXPECT_EQ(piece->end, 0x1020U);
  EXPECT_EQ(functions->at(0x1030)->function, 0x1030U);
}

TEST(RuntimeFunctions, UnsortedAndOverlappingRows) {
  const test::PeFile file(with_rows({{0x1040, 0x1050, kXdata},
                                     {0x1000, 0x1030, kXdata},
                                     {0x1000, 0x1010, kXdata},
                                     {0x1020, 0x1045, kXdata},
                                     {0x1060, 0x1060, kXdata},
                                     {0x1080, 0x1070, kXdata}}));
  const auto functions = RuntimeFunctions::parse(*file);
  ASSERT_TRUE(functions);
  std::vector<std::pair<uint32_t, uint32_t>> bounds;
  for (const RuntimeFunction& row : functions->all()) bounds.emplace_back(row.begin, row.end);
  EXPECT_EQ(bounds, (std::vector<std::pair<uint32_t, uint32_t>>{
                        {0x1000, 0x1020}, {0x1020, 0x1040}, {0x1040, 0x1050}}));
}

TEST(RuntimeFunctions, UnwindInformationThatIsNotThere) {
  const test::PeFile file(with_rows({{0x1000, 0x1010, 0x9000}, {0x1010, 0x1020, 0xffffffff}}));
  const auto functions = RuntimeFunctions::parse(*file);
  ASSERT_TRUE(functions);
  ASSERT_EQ(functions->all().size(), 2U);
  EXPECT_EQ(functions->all()[1].function, 0x1010U);
}

TEST(RuntimeFunctions, OtherImages) {
  test::PeBuilder pe = with_rows({{0x1000, 0x1010, kXdata}});
  pe.machine = 0xaa64;
  const test::PeFile arm(pe);
  EXPECT_TRUE(RuntimeFunctions::parse(*arm)->all().empty());
  pe.machine = 0xfd1d;
  const test::PeFile dotnet(pe);
  EXPECT_EQ(RuntimeFunctions::parse(*dotnet)->all().size(), 1U);
  pe.directories[3].size = 0x10000;
  const test::PeFile cut(pe);
  EXPECT_FALSE(RuntimeFunctions::parse(*cut));
  pe.directories[3] = {};
  const test::PeFile none(pe);
  EXPECT_TRUE(RuntimeFunctions::parse(*none)->all().empty());
}

}  // namespace
}  // namespace jitscope
