#include "unwind/unwind.h"

#include <gtest/gtest.h>

#include <cstring>

#include "fuzz/unwind_code_check.h"
#include "fuzz/unwinding_info_check.h"
#include "unit/corpus.h"

namespace jitscope {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
std::vector<std::byte> program(std::string_view text) {
  const auto bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}
int32_t word_at(std::string_view bytes, size_t at) {
  int32_t value = 0;
  EXPECT_LE(at + sizeof(value), bytes.size());
  if (at + sizeof(value) <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

using namespace std::string_view_literals;

// CFA is rsp + 8, return address at CFA - 8; then a push of rbp.
UnwindTable sample(uint64_t offset = 0, uint64_t size = 32) {
  UnwindTable table;
  table.initial = program("\x0c\x07\x08\x90\x01"sv);
  table.instructions = program("\x41\x0e\x10\x86\x02"sv);
  table.offset = offset;
  table.size = size;
  return table;
}

TEST(UnwindingInfo, WhatIsEncodedIsParsed) {
  UnwindTable other = sample(40, 3);
  other.initial = program("\x0c\x06\x10\x90\x01\x86\x02"sv);
  other.data_alignment = -4;
  other.code_alignment = 2;
  const std::vector<UnwindTable> tables = {sample(), other, sample(48, 5)};
  const UnwindingInfo info = encode_unwinding_info(tables, 53);
  EXPECT_EQ(info.header_size, 12U + 3 * 8);
  EXPECT_EQ(info.mapped_size, info.bytes.size());
  EXPECT_EQ(info.mapped_size % 8, 0U);
  const auto back = parse_unwinding_info(bytes_of(info.bytes), info.header_size, 53);
  ASSERT_TRUE(back) << to_string(back.error());
  ASSERT_EQ(back->size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    UnwindTable one = (*back)[i];
    // Padded by instructions that do nothing.
    EXPECT_GE(one.instructions.size(), tables[i].instructions.size());
    one.instructions.resize(tables[i].instructions.size());
    one.initial.resize(tables[i].initial.size());
    EXPECT_EQ(one, tables[i]) << i;
  }
}

TEST(UnwindingInfo, TheLayoutThatPerfTakes) {
  // The frames lie behind the code, 8-aligned, the search table at the end.
  const std::vector<UnwindTable> tables = {sample(2, 30)};
  const UnwindingInfo info = encode_unwinding_info(tables, 37);
  const size_t header = info.bytes.size() - info.header_size;
  const std::string_view bytes = info.bytes;
  EXPECT_EQ(bytes.substr(header, 4), "\x01\x1b\x03\x3b"sv);
  EXPECT_EQ(word_at(bytes, header + 4), -static_cast<int32_t>(header + 4));  // .eh_frame
  EXPECT_EQ(word_at(bytes, header + 8), 1);
  EXPECT_EQ(word_at(bytes, header + 12), -static_cast<int32_t>(40 + header) + 2);
  const int32_t fde = word_at(bytes, header + 16) + static_cast<int32_t>(header);
  ASSERT_GT(fde, 0);
  const auto at = static_cast<size_t>(fde);
  EXPECT_EQ(word_at(bytes, at + 8), -static_cast<int32_t>(40 + at + 8) + 2);  // where the code is
  EXPECT_EQ(word_at(bytes, at + 12), 30);
  EXPECT_EQ(word_at(bytes, at + 4), static_cast<int32_t>(at + 4));  // the CIE comes first
  EXPECT_EQ(word_at(bytes, header - 4), 0);                         // the end of .eh_frame
}

TEST(UnwindingInfo, AsV8WritesIt) {
  // Augmentation "zLR": an LSDA that is omitted; code of 384 bytes, of which 382 are covered.
  const std::string_view info =
      "\x18\0\0\0\0\0\0\0\3zLR\0\1\x78\x10\2\xff\x1b\x0c\7\x08\x90\1\0\0"
      "\0\0\x28\0\0\0\x20\0\0\0\x5c\xfe\xff\xff\x7e\1\0\0\0\x4f\x0e\x10\x86\2\x43\x0d\6\3\4\1"
      "\x0d\7\x41\x0e\x08\x52\x0c\6\x10\0\0\0\0\0\0\0\0\0\0\0"
      "\1\x1b\3\x3b\xb0\xff\xff\xff\1\0\0\0\x34\xfe\xff\xff\xd0\xff\xff\xff"sv;
  ASSERT_EQ(info.size(), 96U);
  const auto tables = parse_unwinding_info(bytes_of(info), 20, 384);
  ASSERT_TRUE(tables) << to_string(tables.error());
  ASSERT_EQ(tables->size(), 1U);
  const UnwindTable& table = (*tables)[0];
  EXPECT_EQ(table.offset, 0U);
  EXPECT_EQ(table.size, 382U);
  EXPECT_EQ(table.data_alignment, -8);
  EXPECT_EQ(table.return_register, 16U);
  EXPECT_TRUE(fuzz::check_unwinding_info(bytes_of(info)).empty());
  // Its builtins have an empty search table and no frames.
  const auto none = parse_unwinding_info(bytes_of(info.substr(76)), 20, 768);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

TEST(UnwindingInfo, NothingToEncode) {
  EXPECT_TRUE(encode_unwinding_info({}, 100).bytes.empty());
  // A table that does not lie in the body says nothing of it.
  const std::vector<UnwindTable> beyond = {sample(90, 11), sample(0, 0)};
  EXPECT_TRUE(encode_unwinding_info(beyond, 100).bytes.empty());
}

TEST(UnwindingInfo, Damage) {
  const std::vector<UnwindTable> tables = {sample()};
  const UnwindingInfo info = encode_unwinding_info(tables, 32);
  const std::string whole = info.bytes;
  const auto parsed = [&](const std::string& bytes, uint64_t header, uint64_t code) {
    return parse_unwinding_info(bytes_of(bytes), header, code);
  };
  const auto set = [&](size_t at, uint32_t value) {
    std::string bytes = whole;
    std::memcpy(bytes.data() + at, &value, sizeof(value));
    return bytes;
  };
  const auto is_damaged = [](const Result<std::vector<UnwindTable>>& result) {
    return !result && result.error().kind == ErrorKind::damaged;
  };
  ASSERT_TRUE(parsed(whole, info.header_size, 32));
  EXPECT_TRUE(is_damaged(parsed(whole, whole.size() + 1, 32)));
  EXPECT_TRUE(is_damaged(parsed(whole, info.header_size, UINT64_MAX)));
  // A table for more than the body is left out.
  EXPECT_TRUE(parsed(whole, info.header_size, 31)->empty());
  EXPECT_TRUE(is_damaged(parsed(set(0, UINT32_MAX), info.header_size, 32)));
  EXPECT_TRUE(is_damaged(parsed(set(0, 0xfffffff0U), info.header_size, 32)));
  EXPECT_TRUE(is_damaged(parsed(set(0, 3), info.header_size, 32)));
  const size_t fde = 4 + static_cast<size_t>(word_at(whole, 0));
  EXPECT_TRUE(is_damaged(parsed(set(fde + 4, 0xfffffff0U), info.header_size, 32)));
  EXPECT_TRUE(is_damaged(parsed(set(fde + 4, 1), info.header_size, 32)));
  EXPECT_TRUE(parsed(set(fde + 12, 0), info.header_size, 32)->empty());
  EXPECT_TRUE(parsed(set(fde + 12, 0xffffffffU), info.header_size, 32)->empty());
  EXPECT_TRUE(parsed(set(fde, 0), info.header_size, 32)->empty());  // a terminator
  for (size_t i = 0; i < whole.size(); ++i) {
    const auto some = parsed(whole.substr(0, i), 0, 32);
    EXPECT_TRUE(!some || some->size() <= 1) << i;
  }
}

TEST(UnwindingInfo, InstructionsThatNobodyKnows) {
  const auto kept = [](std::string_view instructions) {
    UnwindTable table = sample();
    table.instructions = program(instructions);
    const std::vector<UnwindTable> tables = {table};
    const UnwindingInfo info = encode_unwinding_info(tables, 32);
    const auto back = parse_unwinding_info(bytes_of(info.bytes), info.header_size, 32);
    return back && back->size() == 1;
  };
  EXPECT_TRUE(kept("\x0a\x0b\x07\x03\x08\x03\x09\x03\x0c\x02\x01"sv));
  EXPECT_TRUE(kept("\x10\x06\x02\x76\x00\x0f\x03\x76\x78\x06\x16\x06\x01\x30"sv));
  EXPECT_TRUE(kept("\x2e\x10\x2d\x03\x01\x01\x04\x01\x00\x00\x00"sv));
  EXPECT_FALSE(kept("\x01\0\0\0\0\0\0\0\0"sv));  // DW_CFA_set_loc: holds at one place only
  EXPECT_FALSE(kept("\x3f"sv));
  EXPECT_FALSE(kept("\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv));
}

TEST(EhFrame, OutOfReach) {
  const UnwindTable table = sample();
  const PlacedUnwind near[] = {{0x1000, &table}};
  const PlacedUnwind far[] = {{0x1000, &table}, {0x180000000, &table}};
  EXPECT_TRUE(eh_frame(near, 0x40000000));
  const auto failed = eh_frame(far, 0x1000000);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::not_possible);
  // Code may lie behind its tables as well as before them.
  const PlacedUnwind behind[] = {{0x70000000, &table}};
  EXPECT_TRUE(eh_frame(behind, 0x1000));
}

TEST(EhFrame, WithoutTables) {
  const auto made = eh_frame({}, 0x1000);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->header.size(), 12U);
  EXPECT_EQ(made->frame, std::string(4, '\0'));
  EXPECT_EQ(eh_frame_size({}), 20U);
}

TEST(UnwindOfCode, ImpossibleInput) {
  const std::vector<std::byte> code(16, std::byte{0x90});
  EXPECT_TRUE(unwind_of_code({}, {FrameShape::fixed, 32}).empty());
  EXPECT_TRUE(unwind_of_code(code, {FrameShape::fixed, 32}, 16).empty());
  EXPECT_TRUE(unwind_of_code(code, {FrameShape::interpreter, 0}, UINT64_MAX).empty());
  EXPECT_EQ(unwind_of_code(code, {FrameShape::fixed, UINT32_MAX}).size(), 1U);
}

TEST(UnwindOfCode, ManyPushes) {
  // Each is another state: they are told until there are too many.
  const std::vector<std::byte> code(1U << 20U, std::byte{0x53});
  const auto tables = unwind_of_code(code, {});
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_GT(tables[0].size, 60000U);
  EXPECT_LT(tables[0].size, code.size());
}

TEST(UnwindOfCode, AShortAllocationUnderAJump) {
  // sub rsp, 0x18; mov [rsp + 0x10], rbp; nops; add rsp, 0x18 ... as JVMs that patch no entry
  // themselves (JDK 26) begin leaves.
  const std::string_view body =
      "\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x0f\x1f\x44\0\0\x48\x83\xc4\x10\x5d\xc3"sv;
  const FrameInfo frame{FrameShape::fixed, 32};
  const auto whole = unwind_of_code(bytes_of(body), frame);
  ASSERT_EQ(whole.size(), 1U);
  std::string patched(body);
  patched.replace(0, 5, "\xe9\0\0\0\x40"sv);
  const auto under = unwind_of_code(bytes_of(patched), frame);
  ASSERT_EQ(under.size(), 1U);
  // The jump is one byte longer than the allocation was: behind it both say the same.
  EXPECT_EQ(under[0].size, whole[0].size);
  const auto from = [](const UnwindTable& table) {
    return std::vector<std::byte>(table.instructions.end() - 3, table.instructions.end());
  };
  EXPECT_EQ(from(under[0]), from(whole[0]));
}

TEST(UnwindOfCode, CorpusHoldsUpToDamage) {
  EXPECT_GE(test::replay_corpus("unwind_code", fuzz::check_unwind_of_code), 6U);
}
TEST(UnwindingInfo, CorpusHoldsUpToDamage) {
  EXPECT_GE(test::replay_corpus("unwinding_info", fuzz::check_unwinding_info), 4U);
}

}  // namespace
}  // namespace jitscope
