// Relocation on bytes: what the moved instructions look like, and what is refused for which reason.
#include "live_image/relocate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/image/image_file.h"

namespace jitscope {
namespace {

using test::bytes_of;
using testing::HasSubstr;

constexpr uint64_t entry = 0x7f0000001000;
constexpr uint64_t slot = 0x7f0010000000;

std::vector<std::byte> with_tail(std::vector<std::byte> body, std::initializer_list<int> tail) {
  const auto more = bytes_of(tail);
  body.insert(body.end(), more.begin(), more.end());
  return body;
}

Error refused(std::span<const std::byte> body, uint64_t to = slot) {
  const auto moved = relocate_entry(body, entry, to);
  EXPECT_FALSE(moved);
  return moved ? Error{} : moved.error();
}

struct Plain {
  const char* what;
  std::vector<std::byte> body;
  uint32_t covered;
  uint32_t instructions;
};

TEST(Relocate, InstructionsWithoutAPositionAreCopied) {
  const std::vector<Plain> entries = {
      {"HotSpot stack bang", bytes_of({0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55}), 7, 1},
      {"HotSpot leaf", bytes_of({0x48, 0x81, 0xec, 0x18, 0x00, 0x00, 0x00, 0x48}), 7, 1},
      {"HotSpot class init", bytes_of({0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8, 0x90}), 10, 1},
      {"HotSpot interpreter",
       bytes_of({0x48, 0x8b, 0x53, 0x08, 0x0f, 0xb7, 0x4a, 0x2e, 0x90, 0x90}), 8, 2},
      {"V8 Sparkplug", bytes_of({0x55, 0x48, 0x89, 0xe5, 0x56, 0x57, 0x50}), 5, 3},
      {"HotSpot return poll 17", bytes_of({0x49, 0x3b, 0xa7, 0x48, 0x03, 0x00, 0x00, 0x90}), 7, 1},
      {"endbr64", bytes_of({0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x90, 0x90}), 5, 2},
      {"lock xadd", bytes_of({0xf0, 0x48, 0x0f, 0xc1, 0x07, 0xc3}), 5, 1},
      {"rep movsb, 3 nops", bytes_of({0xf3, 0xa4, 0x90, 0x90, 0x90, 0x90}), 5, 4},
      {"five pushes", bytes_of({0x50, 0x51, 0x52, 0x53, 0x55, 0x56}), 5, 5},
      {"vzeroupper; vmovups", bytes_of({0xc5, 0xf8, 0x77, 0xc5, 0xf8, 0x10, 0x07, 0xc3}), 7, 2},
  };
  for (const Plain& e : entries) {
    const auto moved = relocate_entry(e.body, entry, slot);
    ASSERT_TRUE(moved) << e.what << ": " << to_string(moved.error());
    EXPECT_EQ(moved->covered, e.covered) << e.what;
    EXPECT_EQ(moved->instructions, e.instructions) << e.what;
    EXPECT_THAT(moved->code, testing::ElementsAreArray(std::span(e.body).first(e.covered)))
        << e.what;
  }
}

TEST(Relocate, RipRelativeOperandsGetANewDisplacement) {
  // cmp dword [rip+0x100], 0x11223344: the immediate behind the displacement counts.
  const auto body = bytes_of({0x81, 0x3d, 0x00, 0x01, 0x00, 0x00, 0x44, 0x33, 0x22, 0x11});
  const auto moved = relocate_entry(body, entry, entry - 0x10000);
  ASSERT_TRUE(moved) << to_string(moved.error());
  EXPECT_EQ(moved->code, bytes_of({0x81, 0x3d, 0x00, 0x01, 0x01, 0x00, 0x44, 0x33, 0x22, 0x11}));
}

TEST(Relocate, LeaOfTheBodyItselfKeepsItsMeaning) {
  // lea rbx, [rip-7]: older V8 asks for the start of its code.
  const auto body = bytes_of({0x48, 0x8d, 0x1d, 0xf9, 0xff, 0xff, 0xff, 0xc3});
  const auto moved = relocate_entry(body, entry, entry + 0x1000);
  ASSERT_TRUE(moved) << to_string(moved.error());
  EXPECT_EQ(moved->code, bytes_of({0x48, 0x8d, 0x1d, 0xf9, 0xef, 0xff, 0xff}));
}

TEST(Relocate, ShortConditionalJumpsBecomeLong) {
  // test al, al; je +0x10; nop
  const auto body = bytes_of({0x84, 0xc0, 0x74, 0x10, 0x90, 0x90});
  const auto moved = relocate_entry(body, entry, entry + 0x100);
  ASSERT_TRUE(moved) << to_string(moved.error());
  // The target is entry + 0x14; the jump lies at 0x102 and ends at 0x108.
  EXPECT_EQ(moved->code, bytes_of({0x84, 0xc0, 0x0f, 0x84, 0x0c, 0xff, 0xff, 0xff, 0x90}));
  EXPECT_EQ(moved->covered, 5u);
  EXPECT_EQ(moved->instructions, 3u);
}

TEST(Relocate, V8sDeoptCheckIsMoved) {
  // mov ebx,[rcx-0x30]; test byte [rbx+0x1a],1; jnz far away. 7 bytes, the jnz stays.
  const auto body = bytes_of({0x8b, 0x59, 0xd0, 0xf6, 0x43, 0x1a, 0x01, 0x0f, 0x85, 0, 0, 1, 0});
  const auto moved = relocate_entry(body, entry, slot);
  ASSERT_TRUE(moved) << to_string(moved.error());
  EXPECT_EQ(moved->covered, 7u);
  EXPECT_EQ(moved->instructions, 2u);
}

TEST(Relocate, AReturnPollsJumpIsMovedToo) {
  // cmp rsp,[r15+0x28]; ja +0x40; ret
  const auto body = bytes_of({0x49, 0x3b, 0x67, 0x28, 0x0f, 0x87, 0x40, 0x00, 0x00, 0x00, 0xc3});
  const auto moved = relocate_entry(body, entry, entry - 0x1000);
  ASSERT_TRUE(moved) << to_string(moved.error());
  EXPECT_EQ(moved->covered, 10u);
  EXPECT_EQ(moved->code, bytes_of({0x49, 0x3b, 0x67, 0x28, 0x0f, 0x87, 0x40, 0x10, 0x00, 0x00}));
}

TEST(Relocate, EntriesInAnotherStateSaySo) {
  EXPECT_THAT(refused(bytes_of({0xe9, 1, 2, 3, 4, 0x90})).what, HasSubstr("entry is a jump"));
  EXPECT_THAT(refused(bytes_of({0xeb, 1, 2, 3, 4, 0x90})).what, HasSubstr("entry is a jump"));
  EXPECT_THAT(refused(bytes_of({0xe8, 1, 2, 3, 4, 0x90})).what, HasSubstr("entry is a call"));
  EXPECT_THAT(refused(bytes_of({0xcc, 1, 2, 3, 4, 0x90})).what, HasSubstr("breakpoint"));
  EXPECT_THAT(refused({}).what, HasSubstr("empty"));
}

TEST(Relocate, WhatCannotBeMovedIsRefused) {
  const std::vector<std::pair<const char*, std::vector<std::byte>>> bodies = {
      {"call rel32", bytes_of({0x90, 0xe8, 1, 2, 3, 4})},
      {"call rax", bytes_of({0x90, 0xff, 0xd0, 0x90, 0x90, 0x90})},
      {"call [rip]", bytes_of({0xff, 0x15, 0, 0, 0, 0})},
      {"jmp rel8", bytes_of({0x90, 0xeb, 0x20, 0x90, 0x90})},
      {"jmp rel32 last", bytes_of({0x90, 0x90, 0xe9, 0, 1, 0, 0})},
      {"jmp rax", bytes_of({0xff, 0xe0, 0x90, 0x90, 0x90})},
      {"jmp [rip]", bytes_of({0xff, 0x25, 0, 0, 0, 0})},
      {"jmp far", bytes_of({0xff, 0x2f, 0x90, 0x90, 0x90})},
      {"ret", bytes_of({0x90, 0x90, 0xc3, 0x90, 0x90})},
      {"ret 8", bytes_of({0x90, 0xc2, 8, 0, 0x90, 0x90})},
      {"retf", bytes_of({0xcb, 0x90, 0x90, 0x90, 0x90})},
      {"iretq", bytes_of({0x48, 0xcf, 0x90, 0x90, 0x90})},
      {"loop", bytes_of({0xe2, 0x20, 0x90, 0x90, 0x90})},
      {"loope", bytes_of({0xe1, 0x20, 0x90, 0x90, 0x90})},
      {"loopne", bytes_of({0xe0, 0x20, 0x90, 0x90, 0x90})},
      {"jrcxz", bytes_of({0xe3, 0x20, 0x90, 0x90, 0x90})},
      {"jecxz", bytes_of({0x67, 0xe3, 0x20, 0x90, 0x90})},
      {"xbegin", bytes_of({0xc7, 0xf8, 0, 1, 0, 0})},
      {"int3", bytes_of({0x90, 0xcc, 0x90, 0x90, 0x90})},
      {"int 0x80", bytes_of({0xcd, 0x80, 0x90, 0x90, 0x90})},
      {"int1", bytes_of({0xf1, 0x90, 0x90, 0x90, 0x90})},
      {"syscall", bytes_of({0x0f, 0x05, 0x90, 0x90, 0x90})},
      {"sysenter", bytes_of({0x0f, 0x34, 0x90, 0x90, 0x90})},
      {"ud2", bytes_of({0x0f, 0x0b, 0x90, 0x90, 0x90})},
      {"hlt", bytes_of({0xf4, 0x90, 0x90, 0x90, 0x90})},
      {"jz with 66", bytes_of({0x66, 0x74, 0x20, 0x90, 0x90})},
      {"invalid", bytes_of({0x06, 0x90, 0x90, 0x90, 0x90})},
      {"eip-relative", bytes_of({0x67, 0x8b, 0x05, 0, 1, 0, 0})},
      {"cut short", bytes_of({0x48, 0x81, 0xec, 0x18, 0x00})},
      {"ends early", bytes_of({0x90, 0x90, 0x90, 0x90})},
  };
  for (const auto& [what, body] : bodies) {
    const auto moved = relocate_entry(body, entry, slot);
    ASSERT_FALSE(moved) << what;
    EXPECT_EQ(moved.error().kind, ErrorKind::not_possible) << what;
    EXPECT_FALSE(moved.error().hint.empty()) << what;
    EXPECT_THAT(moved.error().where, HasSubstr("0x7f0000001000")) << what;
  }
}

TEST(Relocate, OutOfReachIsRefused) {
  const auto load = bytes_of({0x48, 0x8b, 0x05, 0, 0, 0, 0x7f, 0x90});  // mov rax,[rip+0x7f000000]
  EXPECT_TRUE(relocate_entry(load, entry, entry + 0x1000));
  EXPECT_THAT(refused(load, entry - 0x10000000).what, HasSubstr("out of the slot's reach"));
  const auto jump = bytes_of({0x0f, 0x84, 0, 0, 0, 0x80, 0x90});
  EXPECT_TRUE(relocate_entry(jump, entry, entry - 0x1000));
  EXPECT_THAT(refused(jump, entry + 0x1000).what, HasSubstr("out of the slot's reach"));
}

TEST(Relocate, UsingTheReplacedBytesAsDataIsRefused) {
  // mov rax,[rip+d] with the 8 bytes read at entry-8 (fine), entry-7 (not), entry+6 (not), +7
  // (fine).
  const auto load = [](int displacement) {
    return bytes_of({0x48, 0x8b, 0x05, displacement & 0xff, displacement < 0 ? 0xff : 0,
                     displacement < 0 ? 0xff : 0, displacement < 0 ? 0xff : 0, 0x90});
  };
  EXPECT_TRUE(relocate_entry(load(-7 - 8), entry, slot));
  EXPECT_THAT(refused(load(-7 - 7)).what, HasSubstr("as data"));
  EXPECT_THAT(refused(load(-1)).what, HasSubstr("as data"));
  EXPECT_TRUE(relocate_entry(load(0), entry, slot));
}

TEST(Relocate, AJumpThereIntoTheReplacedBytesIsRefused) {
  // nop; jz to offset 0 (the entry), 1 (itself), 4 (the nop behind); then to 5, which is fine.
  const auto body = [](int target) {
    return bytes_of({0x90, 0x74, (target - 3) & 0xff, 0x90, 0x90, 0x90});
  };
  for (int target = 0; target < 5; ++target) {
    EXPECT_THAT(refused(body(target)).what, HasSubstr("leads into")) << target;
  }
  EXPECT_TRUE(relocate_entry(body(5), entry, slot));
  EXPECT_TRUE(relocate_entry(body(-1), entry, slot));
}

// push rbp; mov rbp,rsp; push rsi; push rdi: instructions at 0, 1, 4; 5 bytes.
const std::vector<std::byte> prologue = bytes_of({0x55, 0x48, 0x89, 0xe5, 0x56, 0x57});

TEST(Relocate, ABranchOfTheBodyIntoTheReplacedBytesIsRefused) {
  const auto target_at = [](int offset_of_target, int end_of_branch) {
    return (offset_of_target - end_of_branch) & 0xff;
  };
  for (const int target : {1, 4}) {
    for (const int opcode : {0xeb, 0x70, 0x75, 0x7f, 0xe0, 0xe2, 0xe3}) {
      const auto body = with_tail(prologue, {0x90, opcode, target_at(target, 9), 0xc3});
      EXPECT_THAT(refused(body).what, HasSubstr("a branch at +0x7 leads into")) << opcode;
    }
    for (const int opcode : {0xe8, 0xe9}) {
      const auto body =
          with_tail(prologue, {opcode, target_at(target, 11), 0xff, 0xff, 0xff, 0xc3});
      EXPECT_THAT(refused(body).what, HasSubstr("a branch at +0x6 leads into")) << opcode;
    }
    for (const int second : {0x80, 0x85, 0x8f}) {
      const auto body =
          with_tail(prologue, {0x0f, second, target_at(target, 12), 0xff, 0xff, 0xff, 0xc3});
      EXPECT_THAT(refused(body).what, HasSubstr("a branch at +0x6 leads into")) << second;
    }
    const auto xbegin =
        with_tail(prologue, {0xc7, 0xf8, target_at(target, 12), 0xff, 0xff, 0xff, 0xc3});
    EXPECT_THAT(refused(xbegin).what, HasSubstr("a branch at +0x6 leads into"));
  }
}

TEST(Relocate, ADecodedBranchCountsAlsoInsideAnInstruction) {
  const auto body = with_tail(prologue, {0xeb, 2 - 8});
  EXPECT_THAT(refused(body).what, HasSubstr("leads into"));
}

TEST(Relocate, BranchesElsewhereAreFine) {
  // To the entry (a loop or a tail call), to just behind the covered bytes, before the entry.
  EXPECT_TRUE(relocate_entry(with_tail(prologue, {0xeb, 0 - 8}), entry, slot));
  EXPECT_TRUE(relocate_entry(with_tail(prologue, {0xeb, 5 - 8}), entry, slot));
  EXPECT_TRUE(relocate_entry(with_tail(prologue, {0xeb, -1 - 8}), entry, slot));
  EXPECT_TRUE(relocate_entry(with_tail(prologue, {0xe9, 1, 0xff, 0xff, 0x7f}), entry, slot));
}

TEST(Relocate, ABranchHiddenBehindDataIsFound) {
  // The data make a decoder take the jump for the immediate of a movabs (48 b8 imm64).
  const auto body = with_tail(
      prologue, {0xc3, 0x06, 0x48, 0xb8, 0xeb, 1 - 12, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90});
  EXPECT_THAT(refused(body).what, HasSubstr("a branch at +0xa leads into"));
}

TEST(Relocate, DataInTheBodyIsNoReason) {
  std::vector<std::byte> body = prologue;
  body.push_back(std::byte{0xc3});
  for (int i = 0; i < 4096; ++i) body.push_back(std::byte{0x06});  // invalid everywhere
  EXPECT_TRUE(relocate_entry(body, entry, slot));
}

TEST(Relocate, ASingleInstructionHasNoInsideToJumpTo) {
  auto body = bytes_of({0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff});
  body = with_tail(body, {0xeb, 3 - 9});  // bytes that look like a branch to offset 3
  EXPECT_TRUE(relocate_entry(body, entry, slot));
  // ... but a lock prefix is jumped over: lock add dword [rdi+0x10], 1; jmp to offset 1.
  auto locked = bytes_of({0xf0, 0x83, 0x47, 0x10, 0x01});
  EXPECT_TRUE(relocate_entry(locked, entry, slot));
  locked = with_tail(locked, {0xeb, 1 - 7});
  EXPECT_THAT(refused(locked).what, HasSubstr("leads into"));
}

TEST(Relocate, JumpsAndCallsReachTwoGigabytes) {
  EXPECT_EQ(encode_jump(0x1000, 0x1005).value(), bytes_of({0xe9, 0, 0, 0, 0}));
  EXPECT_EQ(encode_call(0x2000, 0x1000).value(), bytes_of({0xe8, 0xfb, 0xef, 0xff, 0xff}));
  EXPECT_EQ(encode_jump(0x1000, 0x1005 + 0x7fffffffULL).value(),
            bytes_of({0xe9, 0xff, 0xff, 0xff, 0x7f}));
  EXPECT_FALSE(encode_jump(0x1000, 0x1005 + 0x80000000ULL));
  EXPECT_EQ(encode_jump(entry, entry + 5 - 0x80000000ULL).value(), bytes_of({0xe9, 0, 0, 0, 0x80}));
  EXPECT_FALSE(encode_jump(entry, entry + 4 - 0x80000000ULL));
}

TEST(BuildSlot, IsNopMovedInstructionsAndJumpBack) {
  const auto built = build_slot(prologue, entry, slot);
  ASSERT_TRUE(built) << to_string(built.error());
  auto expected = bytes_of({0x0f, 0x1f, 0x40, 0x00, 0x55, 0x48, 0x89, 0xe5, 0x56});
  const auto back = encode_jump(slot + 9, entry + 5).value();
  expected.insert(expected.end(), back.begin(), back.end());
  EXPECT_EQ(built->code, expected);
  EXPECT_EQ(built->covered, 5u);
  EXPECT_EQ(built->instructions, 3u);
}

TEST(BuildSlot, CallsTheCommonPointInPlaceOfTheNop) {
  const auto built = build_slot(prologue, entry, slot, slot + 0x1000);
  ASSERT_TRUE(built) << to_string(built.error());
  auto expected = bytes_of({0xe8, 0xfb, 0x0f, 0x00, 0x00, 0x55, 0x48, 0x89, 0xe5, 0x56});
  const auto back = encode_jump(slot + 10, entry + 5).value();
  expected.insert(expected.end(), back.begin(), back.end());
  EXPECT_EQ(built->code, expected);
  EXPECT_EQ(common_probe_point(), bytes_of({0x0f, 0x1f, 0x40, 0x00, 0xc3}));
}

TEST(BuildSlot, OutOfReachIsRefused) {
  EXPECT_FALSE(build_slot(prologue, entry, entry + (1ULL << 32)));
  EXPECT_FALSE(build_slot(prologue, entry, slot, slot + (1ULL << 32)));
}

TEST(BuildSlot, TheLongestFormsFitTheStride) {
  // je; je; then the longest instruction: cs-prefixed add qword ptr fs:[r8+r8+imm32], imm32 (14
  // bytes).
  auto body = bytes_of(
      {0x74, 0x40, 0x75, 0x40, 0x2e, 0x2e, 0x64, 0x4b, 0x81, 0x84, 0x00, 1, 2, 3, 4, 1, 2, 3, 4});
  const auto built = build_slot(body, entry, slot, slot + 0x1000);
  ASSERT_TRUE(built) << to_string(built.error());
  EXPECT_EQ(built->covered, 19u);
  EXPECT_EQ(built->code.size(), 5u + 6 + 6 + 15 + 5);
  EXPECT_LE(built->code.size(), slot_stride);
  EXPECT_LE(built->code.size(), 10 + max_relocated_length);
}

}  // namespace
}  // namespace jitscope
