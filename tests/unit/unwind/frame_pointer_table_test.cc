#include "unwind/frame_pointer_table.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

std::vector<std::byte> code_of(std::initializer_list<int> bytes) {
  std::vector<std::byte> code;
  for (const int byte : bytes) code.push_back(static_cast<std::byte>(byte));
  return code;
}

TEST(FramePointerTableTest, OnlyCodeThatSetsOneUpHasATable) {
  EXPECT_TRUE(frame_pointer_table({}).empty());
  EXPECT_TRUE(frame_pointer_table(code_of({0x55})).empty());
  EXPECT_TRUE(frame_pointer_table(code_of({0x55, 0x48, 0x89})).empty());
  EXPECT_TRUE(frame_pointer_table(code_of({0x48, 0x83, 0xec, 0x18, 0xc3})).empty());
}

TEST(FramePointerTableTest, TellsOfPrologueBodyAndReturns) {
  // nop; push rbp; mov rbp, rsp; nop; pop rbp; ret; nop
  const auto code = code_of({0x90, 0x55, 0x48, 0x89, 0xe5, 0x90, 0x5d, 0xc3, 0x90});
  const auto tables = frame_pointer_table(code);
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].offset, 0U);
  EXPECT_EQ(tables[0].size, code.size());
  EXPECT_EQ(tables[0].initial, code_of({0x0c, 7, 8, 0x80 + 16, 1}));
  EXPECT_EQ(tables[0].instructions,
            code_of({0x42, 0x0e, 16, 0x86, 2,        // behind the push: cfa rsp+16, rbp at cfa-16
                     0x43, 0x0d, 6,                  // behind the mov: cfa rbp+16
                     0x42, 0x0c, 7, 8, 0xc6,         // at the ret: cfa rsp+8, rbp is the caller's
                     0x41, 0x0c, 6, 16, 0x86, 2}));  // behind it
}

TEST(FramePointerTableTest, AReturnAtTheEndEndsIt) {
  const auto code = code_of({0x55, 0x48, 0x8b, 0xec, 0xc9, 0xc2, 0x08, 0x00});
  const auto tables = frame_pointer_table(code);
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].instructions,
            code_of({0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x41, 0x0c, 7, 8, 0xc6}));
}

}  // namespace
}  // namespace jitscope
