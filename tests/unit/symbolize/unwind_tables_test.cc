// The tables of src/unwind/unwind.h as elfutils reads them: code whose frames are known.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "unwind_frames.h"

namespace jitscope {
namespace {

using test::Code;
using test::code_of;
using test::Frames;
using test::kFp;
using test::kPlace;
using test::kSp;
using test::reader_of;
using test::registers;

FrameInfo fixed(uint32_t bytes) {
  return {FrameShape::fixed, bytes};
}

// A method as HotSpot's C1 and C2 make them, with a slow path and an exception path at the end.
const Code kMethod = code_of({
    {0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff},  //  0: mov [rsp - 0x14000], eax
    {0x55},                                      //  7: push rbp
    {0x48, 0x83, 0xec, 0x20},                    //  8: sub rsp, 0x20
    {0x85, 0xf6},                                // 12: test esi, esi
    {0x74, 0x0d},                                // 14: je 29
    {0x48, 0x83, 0xc4, 0x20},                    // 16: add rsp, 0x20
    {0x5d},                                      // 20: pop rbp
    {0x49, 0x3b, 0x67, 0x28},                    // 21: cmp rsp, [r15 + 0x28]
    {0x77, 0x0d},                                // 25: ja 40
    {0xc3},                                      // 27: ret
    {0xf4},                                      // 28: hlt
    {0x8b, 0xee},                                // 29: mov ebp, esi
    {0x53},                                      // 31: push rbx
    {0xe8, 0x00, 0x10, 0x00, 0x00},              // 32: call far away
    {0x5b},                                      // 37: pop rbx
    {0xeb, 0xe8},                                // 38: jmp 16
    {0x4c, 0x8d, 0x15, 0xe6, 0xff, 0xff, 0xff},  // 40: lea r10, [rip - 26]
    {0xe9, 0x00, 0x10, 0x00, 0x00},              // 47: jmp far away
    {0x48, 0x83, 0xc4, 0x20},                    // 52: add rsp, 0x20 (nothing leads here)
    {0x5d},                                      // 56: pop rbp
    {0xe9, 0x00, 0x10, 0x00, 0x00},              // 57: jmp far away
    {0xe8, 0x00, 0x00, 0x00, 0x00},              // 62: call 67
    {0x48, 0x83, 0x2c, 0x24, 0x05},              // 67: sub qword [rsp], 5
    {0xe9, 0x00, 0x10, 0x00, 0x00},              // 72: jmp far away
});

TEST(UnwindTables, CompiledMethod) {
  const Frames frames(kMethod, fixed(48));
  ASSERT_EQ(frames.tables().size(), 1U);
  EXPECT_EQ(frames.tables()[0].size, kMethod.size());
  const std::map<uint64_t, std::pair<int64_t, int64_t>> expected = {
      // Depth of rsp, place of rbp.
      {0, {8, 0}},    {7, {8, 0}},    {8, {16, 16}},  {11, {16, 16}}, {12, {48, 16}},
      {16, {48, 16}}, {20, {16, 16}}, {21, {8, 0}},   {27, {8, 0}},   {28, {48, 16}},
      {29, {48, 16}}, {31, {48, 16}}, {32, {56, 16}}, {37, {56, 16}}, {38, {48, 16}},
      {40, {8, 0}},   {51, {8, 0}},   {52, {48, 16}}, {56, {16, 16}}, {57, {8, 0}},
      {62, {48, 16}}, {67, {56, 16}}, {76, {56, 16}}};
  for (const auto& [offset, state] : expected) {
    EXPECT_EQ(frames.depth(offset), state.first) << offset;
    EXPECT_EQ(frames.rbp(offset), state.second) << offset;
  }
  EXPECT_FALSE(frames.at(kMethod.size()));
}

TEST(UnwindTables, ALeafThatSavesWithoutPush) {
  const Code code = code_of({
      {0x48, 0x81, 0xec, 0x18, 0x00, 0x00, 0x00},  //  0: sub rsp, 0x18
      {0x48, 0x89, 0x6c, 0x24, 0x10},              //  7: mov [rsp + 0x10], rbp
      {0x31, 0xed},                                // 12: xor ebp, ebp
      {0x48, 0x83, 0xc4, 0x10},                    // 14: add rsp, 0x10
      {0x5d},                                      // 18: pop rbp
      {0xc3},                                      // 19: ret
  });
  const Frames frames(code, fixed(32));
  EXPECT_EQ(frames.depth(0), 8);
  EXPECT_EQ(frames.depth(7), 32);
  EXPECT_EQ(frames.rbp(7), 0);
  EXPECT_EQ(frames.rbp(12), 16);
  EXPECT_EQ(frames.rbp(14), 16);
  EXPECT_EQ(frames.depth(18), 16);
  EXPECT_EQ(frames.depth(19), 8);
  EXPECT_EQ(frames.rbp(19), 0);
}

TEST(UnwindTables, AnEntryThatIsPatched) {
  Code code = kMethod;
  // e9 rel32 far away, as HotSpot makes a method not entrant.
  const int patch[] = {0xe9, 0x00, 0x00, 0x10, 0x00};
  for (size_t i = 0; i < std::size(patch); ++i) code[i] = static_cast<std::byte>(patch[i]);
  const Frames whole(kMethod, fixed(48));
  const Frames patched(code, fixed(48));
  ASSERT_EQ(patched.tables().size(), 1U);
  for (uint64_t i = 0; i < code.size(); ++i) {
    EXPECT_EQ(patched.depth(i), whole.depth(i)) << i;
    EXPECT_EQ(patched.rbp(i), whole.rbp(i)) << i;
  }

  Code leaf = code_of({{0xe9, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00},  // was sub rsp, 0x18
                       {0x48, 0x89, 0x6c, 0x24, 0x10},              //  7: mov [rsp + 0x10], rbp
                       {0x90},
                       {0x48, 0x83, 0xc4, 0x10},  // 13: add rsp, 0x10
                       {0x5d},
                       {0xc3}});
  const Frames patched_leaf(leaf, fixed(32));
  EXPECT_EQ(patched_leaf.depth(7), 32);
  EXPECT_EQ(patched_leaf.rbp(12), 16);
  EXPECT_EQ(patched_leaf.depth(18), 8);
}

TEST(UnwindTables, ASecondEntryInTheMiddle) {
  // C1's OSR entry builds the frame again.
  Code code = kMethod;
  const uint64_t entry = code.size();
  const Code osr = code_of(
      {{0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff}, {0x55}, {0x48, 0x83, 0xec, 0x20}, {0xe9}});
  code.insert(code.end(), osr.begin(), osr.end());
  const auto back = static_cast<int32_t>(12 - static_cast<int64_t>(code.size()) - 4);
  for (unsigned i = 0; i < 4; ++i) {
    code.push_back(static_cast<std::byte>((static_cast<uint32_t>(back) >> (8 * i)) & 0xffU));
  }
  // It is found without being told.
  for (const uint64_t told : {entry, uint64_t{0}}) {
    const Frames frames(code, fixed(48), told);
    EXPECT_EQ(frames.depth(entry), 8);
    EXPECT_EQ(frames.depth(entry + 7), 8);
    EXPECT_EQ(frames.depth(entry + 8), 16);
    EXPECT_EQ(frames.depth(entry + 12), 48);
    EXPECT_EQ(frames.depth(0), 8);
    EXPECT_EQ(frames.depth(12), 48);
    EXPECT_EQ(frames.depth(21), 8);
  }
}

TEST(UnwindTables, DataThatLooksLikeCode) {
  Code code = kMethod;
  const uint64_t data = code.size();
  const Code bytes = code_of({{0x48, 0x94}, {0xff, 0xff, 0xff}});  // xchg rax, rsp; no instruction
  code.insert(code.end(), bytes.begin(), bytes.end());
  const Frames frames(code, fixed(48));
  ASSERT_EQ(frames.tables().size(), 1U);
  for (uint64_t i = data; i < code.size(); ++i) EXPECT_EQ(frames.depth(i), 48) << i;
}

TEST(UnwindTables, ACallThatNeverReturns) {
  // Behind it stands a stub that is entered with another frame (C1's slow paths at the end).
  const Code code = code_of({{0x55},                          //  0: push rbp
                             {0x48, 0x83, 0xec, 0x20},        //  1: sub rsp, 0x20
                             {0x85, 0xf6},                    //  5: test esi, esi
                             {0x74, 0x11},                    //  7: je 26
                             {0xe8, 0x00, 0x10, 0x00, 0x00},  //  9: call far away
                             {0x48, 0x83, 0xc4, 0x20},        // 14: add rsp, 0x20
                             {0x5d},                          // 18: pop rbp
                             {0x49, 0x3b, 0x67, 0x28},        // 19: cmp rsp, [r15 + 0x28]
                             {0x77, 0x06},                    // 23: ja 31
                             {0xc3},                          // 25: ret
                             {0xe8, 0x00, 0x10, 0x00, 0x00},  // 26: call to who throws
                             {0x4c, 0x8d, 0x15, 0xe6, 0xff, 0xff, 0xff},  // 31: lea r10, [rip - 26]
                             {0xe9, 0x00, 0x10, 0x00, 0x00}});
  const Frames frames(code, fixed(48));
  EXPECT_EQ(frames.depth(26), 48);
  EXPECT_EQ(frames.depth(31), 8);
  EXPECT_EQ(frames.rbp(31), 0);
  EXPECT_EQ(frames.depth(38), 8);
}

TEST(UnwindTables, CodeThatIsNotPatchedYet) {
  // C1: a jump to a stub lies over a 10-byte instruction; the rest of its bytes are no code.
  const Code code = code_of({{0x55},                                //  0: push rbp
                             {0x48, 0x83, 0xec, 0x20},              //  1: sub rsp, 0x20
                             {0xe9, 0x1a, 0x00, 0x00, 0x00},        //  5: jmp 36
                             {0x57, 0x57, 0x57, 0x57, 0x57},        // 10: would be push rdi
                             {0x48, 0x83, 0xc4, 0x20},              // 15: add rsp, 0x20
                             {0x5d},                                // 19: pop rbp
                             {0xc3},                                // 20: ret
                             {0x48, 0xba, 0, 0, 0, 0, 0, 0, 0, 0},  // 21: what will lie there
                             {0xb8, 0x00, 0x0f, 0x05, 0x0a},        // 31: how long it is
                             {0xe8, 0x00, 0x10, 0x00, 0x00},        // 36: call to who patches
                             {0xe9, 0xd7, 0xff, 0xff, 0xff}});      // 41: jmp 5
  const Frames frames(code, fixed(48));
  ASSERT_EQ(frames.tables().size(), 1U);
  EXPECT_EQ(frames.depth(10), 48);
  EXPECT_EQ(frames.depth(14), 48);
  EXPECT_EQ(frames.depth(15), 48);
  EXPECT_EQ(frames.depth(19), 16);
  EXPECT_EQ(frames.depth(20), 8);
  EXPECT_EQ(frames.depth(41), 48);
}

TEST(UnwindTables, CodeThatNeverTouchesTheStack) {
  // Vtable stubs with data before them: what they would be as code does not matter.
  const Code code = code_of({{0x50, 0x54, 0x00}, {0x48, 0x8b, 0x06}, {0xff, 0x60, 0x40}});
  const Frames frames(code, fixed(8));
  ASSERT_EQ(frames.tables().size(), 1U);
  for (uint64_t i = 0; i < code.size(); ++i) EXPECT_EQ(frames.depth(i), 8) << i;
}

TEST(UnwindTables, AStackThatIsAlignedForACall) {
  // As in HotSpot's native wrappers; the CFA is a multiple of 16.
  const Code code = code_of({{0x55},                    //  0: push rbp
                             {0x48, 0x8b, 0xec},        //  1: mov rbp, rsp
                             {0x48, 0x83, 0xec, 0x20},  //  4: sub rsp, 0x20
                             {0x53},                    //  8: push rbx
                             {0x4c, 0x8b, 0xe4},        //  9: mov r12, rsp
                             {0x48, 0x83, 0xe4, 0xf0},  // 12: and rsp, -16
                             {0xe8, 0x00, 0x10, 0x00, 0x00},
                             {0x49, 0x8b, 0xe4},  // 21: mov rsp, r12
                             {0xc9},              // 24: leave
                             {0xc3}});
  const Frames frames(code, fixed(48));
  EXPECT_EQ(frames.depth(12), 56);
  EXPECT_EQ(frames.depth(16), 64);
  EXPECT_EQ(frames.depth(21), 64);
  EXPECT_EQ(frames.depth(24), 56);
  EXPECT_EQ(frames.depth(25), 8);
  EXPECT_EQ(frames.rbp(25), 0);

  // Elsewhere nobody knows; the CFA is told by the register that still points to the frame.
  const Frames unknown(code, {});
  EXPECT_EQ(unknown.depth(12), 56);
  const auto aligned = unknown.at(16);
  ASSERT_TRUE(aligned);
  EXPECT_EQ(aligned->cfa, kFp + 16);
  EXPECT_EQ(aligned->rbp_at, kFp);
  EXPECT_EQ(unknown.depth(24), 56);
  EXPECT_EQ(unknown.depth(25), 8);
}

TEST(UnwindTables, AStubThatIsJumpedTo) {
  // Makes room for its return address itself: the declared size tells.
  const Code code = code_of({{0x53},                    //  0: push rbx
                             {0x55},                    //  1: push rbp
                             {0x48, 0x8b, 0xec},        //  2: mov rbp, rsp
                             {0x48, 0x83, 0xec, 0x20},  //  5: sub rsp, 0x20
                             {0x90},                    //  9
                             {0xc9},                    // 10: leave
                             {0xc3}});
  const Frames frames(code, fixed(48));
  EXPECT_EQ(frames.depth(1), 8);
  EXPECT_EQ(frames.depth(5), 16);
  EXPECT_EQ(frames.depth(9), 48);
  EXPECT_EQ(frames.rbp(9), 16);
  EXPECT_EQ(frames.depth(11), 8);
}

TEST(UnwindTables, AReturnAddressThatIsTakenAway) {
  const Code code = code_of({{0x90}, {0x58}, {0x48, 0x83, 0xec, 0x10}, {0x50}, {0xff, 0xe3}});
  const Frames frames(code, {});
  EXPECT_EQ(frames.depth(0), 8);
  EXPECT_EQ(frames.depth(1), 8);
  for (uint64_t i = 2; i < code.size(); ++i) EXPECT_FALSE(frames.at(i)) << i;
}

TEST(UnwindTables, Interpreter) {
  const Code code(256, std::byte{0x90});
  const Frames frames(code, {FrameShape::interpreter, 0});
  ASSERT_EQ(frames.tables().size(), 1U);
  const auto word = [](uint64_t address) -> std::optional<uint64_t> {
    if (address == kFp - 8) return 0x7ffe4000;
    return std::nullopt;
  };
  for (const uint64_t offset : {0, 100, 255}) {
    const auto found = frames.at(offset, word);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->cfa, 0x7ffe4000U);
    EXPECT_EQ(found->rbp_at, kFp);
    EXPECT_EQ(found->return_at, kFp + 8);
  }
  EXPECT_FALSE(frames.at(100));  // the word cannot be read
}

TEST(UnwindTables, SeveralRoutines) {
  const Code code = code_of({
      {0x31, 0xc0},              //  0: xor eax, eax
      {0xc3},                    //  2: ret
      {0x90},                    //  3
      {0x55},                    //  4: push rbp
      {0x48, 0x8b, 0xec},        //  5: mov rbp, rsp
      {0x48, 0x83, 0xec, 0x18},  //  8: sub rsp, 0x18
      {0x48, 0x89, 0x5d, 0xf8},  // 12: mov [rbp - 8], rbx
      {0xff, 0xd0},              // 16: call rax
      {0x48, 0x8b, 0x5d, 0xf8},  // 18: mov rbx, [rbp - 8]
      {0xc9},                    // 22: leave
      {0xc3},                    // 23: ret
      {0x0f, 0x1f, 0x00},        // 24: nop
      {0x85, 0xff},              // 27: test edi, edi: nothing leads here
      {0x74, 0x02},              // 29: je 33
      {0xff, 0xe3},              // 31: jmp rbx
      {0xeb, 0xdd},              // 33: jmp 0
      {0x89, 0x04, 0x24},        // 35: mov [rsp], eax: and here neither
      {0x48, 0x83, 0xc4, 0x08},  // 38: add rsp, 8
      {0xc3},                    // 42: ret
  });
  const Frames frames(code, {});
  EXPECT_EQ(frames.depth(2), 8);
  EXPECT_FALSE(frames.at(3));
  EXPECT_EQ(frames.depth(4), 8);
  EXPECT_EQ(frames.depth(5), 16);
  EXPECT_EQ(frames.depth(16), 40);
  EXPECT_EQ(frames.rbp(16), 16);
  EXPECT_EQ(frames.depth(23), 8);
  EXPECT_EQ(frames.depth(27), 8);
  EXPECT_EQ(frames.depth(31), 8);
  EXPECT_EQ(frames.depth(33), 8);
  // It moves rsp, from who knows where.
  EXPECT_FALSE(frames.at(35));
  EXPECT_FALSE(frames.at(38));
  EXPECT_EQ(frames.depth(42), 8);  // what returns has its return address on top
}

TEST(UnwindTables, StubsThatSaveAllRegisters) {
  const Code code = code_of({{0x55},
                             {0x48, 0x8b, 0xec},              //  1: mov rbp, rsp
                             {0x48, 0x83, 0xec, 0x20},        //  4: sub rsp, 0x20
                             {0x48, 0x89, 0x6c, 0x24, 0x10},  //  8: mov [rsp + 0x10], rbp
                             {0x31, 0xed},                    // 13: xor ebp, ebp
                             {0x48, 0x8b, 0x6c, 0x24, 0x10},  // 15: mov rbp, [rsp + 0x10]
                             {0xc9},                          // 20: leave
                             {0xc3}});
  const Frames frames(code, fixed(48));
  EXPECT_EQ(frames.depth(15), 48);
  EXPECT_EQ(frames.depth(21), 8);
  EXPECT_EQ(frames.rbp(21), 0);
}

TEST(UnwindTables, OneTableForManyBodies) {
  std::vector<std::vector<UnwindTable>> tables;
  std::vector<PlacedUnwind> bodies;
  constexpr uint64_t count = 500;
  for (uint64_t i = 0; i < count; ++i) tables.push_back(unwind_of_code(kMethod, fixed(48)));
  tables.push_back(unwind_of_code(kMethod, {FrameShape::interpreter, 0}));
  for (uint64_t i = 0; i < tables.size(); ++i) {
    const uint64_t place = kPlace + (i * 37 % tables.size()) * 0x80;  // in no order
    for (const UnwindTable& table : tables[i]) bodies.push_back({place, &table});
  }
  const auto reader = reader_of(bodies);
  ASSERT_TRUE(reader->ok());
  const auto word = [](uint64_t) -> std::optional<uint64_t> { return 0x7ffe4000; };
  uint64_t interpreted = 0;
  for (uint64_t i = 0; i < tables.size(); ++i) {
    const auto found = reader->at(kPlace + i * 0x80 + 16, registers(), word);
    ASSERT_TRUE(found) << i;
    if (found->cfa == 0x7ffe4000) {
      ++interpreted;
    } else {
      EXPECT_EQ(found->cfa, kSp + 48) << i;
    }
    EXPECT_FALSE(reader->at(kPlace + i * 0x80 + kMethod.size(), registers(), word)) << i;
  }
  EXPECT_EQ(interpreted, 1U);
}

}  // namespace
}  // namespace jitscope
