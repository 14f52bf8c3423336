#include "formats/pe/unwind_info.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/pe_builder.h"
#include "unit/formats/pe/pe_test_image.h"

namespace jitscope {
namespace {

using Kind = UnwindStep::Kind;
using Steps = std::vector<UnwindStep>;
constexpr uint32_t kAt = 0x3000;

test::PeBuilder with_unwind(const std::string& bytes) {
  test::PeBuilder pe;
  pe.sections = {{".text", 0x1000, std::string(0x100, '\xcc')},
                 {".xdata", kAt, bytes, 0, 0, 0x40000040}};
  return pe;
}

test::LittleBytes head(unsigned version, unsigned flags, unsigned prolog, unsigned codes,
                       unsigned frame = 0) {
  test::LittleBytes out;
  out.u8(version | flags << 3U).u8(prolog).u8(codes).u8(frame);
  return out;
}
void code(test::LittleBytes& out, unsigned at, unsigned operation, unsigned info) {
  out.u8(at).u8(operation | info << 4U);
}

TEST(UnwindInfo, EveryOperation) {
  test::LittleBytes bytes = head(1, 0, 40, 19, 0x35);  // rbp = rsp + 48
  code(bytes, 40, 9, 7);
  bytes.u32(0x12340);
  code(bytes, 36, 8, 6);
  bytes.u16(3);
  code(bytes, 32, 5, 12);
  bytes.u32(0x100008);
  code(bytes, 28, 4, 3);
  bytes.u16(5);
  code(bytes, 24, 3, 0);
  code(bytes, 20, 1, 1);
  bytes.u32(0x200000);
  code(bytes, 16, 1, 0);
  bytes.u16(0x100);
  code(bytes, 8, 2, 4);
  code(bytes, 4, 0, 5);
  code(bytes, 2, 10, 1);
  const test::PeFile file(with_unwind(bytes.bytes()));
  const auto info = UnwindInfo::parse(*file, kAt);
  ASSERT_TRUE(info) << to_string(info.error());
  EXPECT_EQ(info->version, 1);
  EXPECT_EQ(info->prolog_size, 40);
  EXPECT_EQ(info->frame_register, 5);
  EXPECT_EQ(info->frame_offset, 48U);
  EXPECT_EQ(info->steps, (Steps{{Kind::save_xmm, 40, 7, 0x12340},
                                {Kind::save_xmm, 36, 6, 48},
                                {Kind::save, 32, 12, 0x100008},
                                {Kind::save, 28, 3, 40},
                                {Kind::set_frame, 24, 5, 48},
                                {Kind::alloc, 20, 0, 0x200000},
                                {Kind::alloc, 16, 0, 0x800},
                                {Kind::alloc, 8, 0, 40},
                                {Kind::push, 4, 5, 0},
                                {Kind::machine_frame, 2, 0, 1}}));
  EXPECT_FALSE(info->chained);

  // Only what has been done.
  const PeFunctionRow row{0x1000, 0x1080, kAt};
  const auto count = [&](uint32_t rva) { return unwind_steps(*file, row, rva)->size(); };
  EXPECT_EQ(count(0x1000), 0U);
  EXPECT_EQ(count(0x1001), 0U);
  EXPECT_EQ(count(0x1002), 1U);
  EXPECT_EQ(count(0x1008), 3U);
  EXPECT_EQ(count(0x1027), 9U);
  EXPECT_EQ(count(0x107f), 10U);
}

TEST(UnwindInfo, EpilogsOfVersionTwoAndLargeFrameOffsets) {
  test::LittleBytes bytes = head(2, 0, 4, 7, 0xf5);
  code(bytes, 5, 6, 1);
  code(bytes, 0, 6, 0);
  code(bytes, 4, 11, 0);
  bytes.u32(0x1000);
  code(bytes, 1, 0, 5);
  code(bytes, 0x20, 6, 0);  // the last alone
  const test::PeFile file(with_unwind(bytes.bytes()));
  const auto info = UnwindInfo::parse(*file, kAt);
  ASSERT_TRUE(info) << to_string(info.error());
  EXPECT_EQ(info->steps, (Steps{{Kind::set_frame, 4, 5, 0x10000}, {Kind::push, 1, 5, 0}}));
}

TEST(UnwindInfo, ChainsAreUndoneWhole) {
  test::LittleBytes bytes = head(1, 0, 4, 1);  // the function
  code(bytes, 4, 0, 3);
  bytes.u16(0);
  const auto piece_at = static_cast<uint32_t>(kAt + bytes.size());
  bytes.text(head(1, 4, 2, 1).bytes());
  code(bytes, 2, 0, 6);
  bytes.u16(0).u32(0x1000).u32(0x1040).u32(kAt);
  const auto indirect_at = static_cast<uint32_t>(kAt + bytes.size());
  bytes.u32(0x1000).u32(0x1040).u32(kAt);
  const test::PeFile file(with_unwind(bytes.bytes()));

  const PeFunctionRow primary{0x1000, 0x1040, kAt};
  const PeFunctionRow piece{0x1050, 0x1060, piece_at};
  EXPECT_EQ(chained_row(*file, primary), std::nullopt);
  EXPECT_EQ(chained_row(*file, piece), primary);
  EXPECT_EQ(primary_row(*file, piece), primary);
  EXPECT_EQ(*unwind_steps(*file, piece, 0x1050), (Steps{{Kind::push, 4, 3, 0}}));
  EXPECT_EQ(*unwind_steps(*file, piece, 0x1052),
            (Steps{{Kind::push, 2, 6, 0}, {Kind::push, 4, 3, 0}}));
  const PeFunctionRow indirect{0x1070, 0x1080, indirect_at | 1U};
  EXPECT_EQ(primary_row(*file, indirect), primary);
  EXPECT_FALSE(UnwindInfo::parse(*file, indirect.unwind));
  EXPECT_EQ(*unwind_steps(*file, indirect, 0x1070), (Steps{{Kind::push, 4, 3, 0}}));
}

TEST(UnwindInfo, ChainsThatGoRound) {
  test::LittleBytes bytes = head(1, 4, 0, 0);
  bytes.u32(0x1000).u32(0x1040).u32(kAt);
  const test::PeFile file(with_unwind(bytes.bytes()));
  const PeFunctionRow row{0x1010, 0x1020, kAt};
  EXPECT_EQ(primary_row(*file, row), row);
  EXPECT_FALSE(unwind_steps(*file, row, 0x1010));
}

TEST(UnwindInfo, Damaged) {
  const auto refused = [](const std::string& bytes) {
    const test::PeFile file(with_unwind(bytes));
    const auto info = UnwindInfo::parse(*file, kAt);
    return !info && info.error().kind == ErrorKind::damaged;
  };
  EXPECT_TRUE(refused(head(1, 0, 0, 200).bytes())) << "codes that are not there";
  EXPECT_TRUE(refused(head(0, 0, 0, 0).bytes()));
  EXPECT_TRUE(refused(head(3, 0, 0, 0).bytes()));
  EXPECT_TRUE(refused(head(1, 4, 0, 0).u32(1).bytes())) << "half a row";
  EXPECT_TRUE(refused(head(1, 0, 0, 1).u16(0x0c00).bytes())) << "an unknown operation";
  EXPECT_TRUE(refused(head(1, 0, 0, 1).u16(0x0400).bytes())) << "its operand is missing";
  EXPECT_TRUE(refused(head(1, 0, 0, 2).u16(0x2100).u16(0).bytes())) << "a size of another kind";
  EXPECT_FALSE(refused(head(1, 0, 0, 0).bytes()));
  const test::PeFile file(with_unwind(head(1, 0, 0, 0).bytes()));
  EXPECT_FALSE(UnwindInfo::parse(*file, 0x9000));
  EXPECT_FALSE(unwind_steps(*file, {0x1000, 0x1010, 0x9000}, 0x1000));
  EXPECT_FALSE(unwind_steps(*file, {0x1000, 0x1010, 0x9001}, 0x1000));
}

}  // namespace
}  // namespace jitscope
