// Every reason why a body carries no site, for each backend.
#include "probe/eligibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/probe/fake_source.h"

namespace jitscope {
namespace {

using test::code_body;
using test::method_name;
using testing::HasSubstr;

constexpr std::array all_uses = {EntryUse::jump, EntryUse::none, EntryUse::trap};

Bytes bytes_of(std::initializer_list<unsigned> values) {
  Bytes bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}
const Bytes bang = bytes_of({0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55});

CodeBody body_at(uint64_t address = 0x7f00'0000'1000) {
  CodeBody body = code_body(address, method_name("T", "m"));
  body.convention = CallConvention::hotspot_x86_64;
  return body;
}

void expect_refused(const CodeBody& body, const Bytes& bytes, std::string_view reason,
                    std::span<const EntryUse> uses = all_uses) {
  for (const EntryUse use : uses) {
    EXPECT_THAT(why_not(body, bytes, use), HasSubstr(std::string(reason))) << static_cast<int>(use);
  }
}

TEST(WhyNot, AnOrdinaryBodyIsFine) {
  for (const EntryUse use : all_uses) EXPECT_EQ(why_not(body_at(), bang, use), "");
  CodeBody unknown = body_at();
  unknown.state = BodyState::unknown;
  unknown.tier = Tier::unknown;
  for (const EntryUse use : all_uses) EXPECT_EQ(why_not(unknown, bang, use), "");
}

TEST(WhyNot, WhatIsKnownOfTheBody) {
  CodeBody body = body_at();
  body.not_probeable = "the source's own reason";
  expect_refused(body, bang, "the source's own reason");
  body = body_at();
  body.osr = true;
  expect_refused(body, bang, "OSR");
  body = body_at();
  body.tier = Tier::bytecode;
  expect_refused(body, bang, "bytecode");
  body.tier = Tier::stub;
  expect_refused(body, bang, "stub");
  for (const BodyState state : {BodyState::not_entrant, BodyState::dead}) {
    body = body_at();
    body.state = state;
    expect_refused(body, bang, "not entrant");
  }
  body = body_at();
  body.entry = 0;
  expect_refused(body, bang, "entry is not known");
}

TEST(WhyNot, WhatTheBytesSay) {
  expect_refused(body_at(), {}, "cannot be read");
  expect_refused(body_at(), bytes_of({0x89, 0x84, 0x24, 0, 0, 0, 0}), "cannot be read");
  expect_refused(body_at(), bytes_of({0xe9, 1, 2, 3, 4, 5, 6, 7}), "its entry is a jump");
  constexpr std::array changing = {EntryUse::jump, EntryUse::trap};
  const Bytes int3 = bytes_of({0xcc, 0x84, 0x24, 0, 0, 0, 0, 0});
  expect_refused(body_at(), int3, "breakpoint of another tool", changing);
  EXPECT_EQ(why_not(body_at(), int3, EntryUse::none), "");
}

TEST(WhyNot, AnEntryThatCrossesAPageIsNotChanged) {
  for (const uint64_t offset : {uint64_t{4089}, uint64_t{4092}, uint64_t{4095}}) {
    const CodeBody body = body_at(0x7f00'0000'0000 + offset);
    constexpr std::array changing = {EntryUse::jump, EntryUse::trap};
    expect_refused(body, bang, "crosses a page", changing);
    EXPECT_EQ(why_not(body, bang, EntryUse::none), "");
  }
  EXPECT_EQ(why_not(body_at(0x7f00'0000'0000 + 4088), bang, EntryUse::jump), "");
}

TEST(WhyNot, HotspotEntriesAreOnlyPatchedWhereTheJvmCould) {
  for (const Bytes& fine :
       {bang, bytes_of({0x48, 0x81, 0xec, 0x10, 0, 0, 0, 0x90}),
        bytes_of({0x49, 0xba, 1, 2, 3, 4, 5, 6}),
        bytes_of({0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10})}) {  // sub imm8; mov rbp
    EXPECT_EQ(why_not(body_at(), fine, EntryUse::jump), "");
  }
  for (const Bytes& other :
       {bytes_of({0x55, 0x48, 0x89, 0xe5, 0x90, 0x90, 0x90, 0x90}),  // push rbp
        bytes_of({0x48, 0x83, 0xec, 0x10, 0x90, 0x90, 0x90, 0x90}),  // sub imm8, something else
        bytes_of({0x48, 0x8b, 0x06, 0x90, 0x90, 0x90, 0x90, 0x90}),  // Object.hashCode
        bytes_of({0xe8, 1, 2, 3, 4, 0x90, 0x90, 0x90}),              // OSR
        bytes_of({0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90})}) {
    EXPECT_THAT(why_not(body_at(), other, EntryUse::jump), HasSubstr("patched over"));
    EXPECT_EQ(why_not(body_at(), other, EntryUse::none), "");
    CodeBody v8 = body_at();
    v8.convention = CallConvention::v8_x86_64;
    EXPECT_EQ(why_not(v8, other, EntryUse::jump), "");
  }
}

TEST(Guards, AreTheIdentityOfTheBody) {
  CodeBody body = body_at();
  EXPECT_TRUE(guards_of(body).empty());
  body.identity = {{0x100, bytes_of({1})}, {0x200, bytes_of({1, 2, 3, 4})}};
  const auto guards = guards_of(body);
  ASSERT_EQ(guards.size(), 2U);
  EXPECT_EQ(guards[1].address, 0x200U);
  EXPECT_EQ(guards[1].expected, bytes_of({1, 2, 3, 4}));
}

TEST(HitCheckOf, TakesTheFourByteCompileId) {
  CodeBody body = body_at();
  body.identity = {{0x100, bytes_of({0})}, {0x200, bytes_of({0x78, 0x56, 0x34, 0x92})}};
  const HitCheck check = hit_check_of(body);
  EXPECT_EQ(check.address, 0x200U);
  EXPECT_EQ(check.value, 0x92345678U);
  EXPECT_EQ(check.mask, 0xffffffffU);
  EXPECT_TRUE(check.skip_if_jump);
  body.identity = {{0x100, bytes_of({0})}};
  EXPECT_EQ(hit_check_of(body).address, 0U);
  body.convention = CallConvention::v8_x86_64;
  EXPECT_FALSE(hit_check_of(body).skip_if_jump);
}

TEST(HitCheckOf, TakesTheStateWhereItLiesWithinTheSameEightBytes) {
  CodeBody body = body_at();
  body.identity = {{0x200, bytes_of({0x78, 0x56, 0x34, 0x92})},
                   {0x207, bytes_of({0x01})},
                   {0x300, bytes_of({1, 2, 3, 4, 5, 6, 7, 8})}};
  EXPECT_EQ(hit_check_of(body).value, 0x0100000092345678U);
  EXPECT_EQ(hit_check_of(body).mask, 0xff000000ffffffffU);
  const HitCheck state = state_check_of(body);
  EXPECT_EQ(state.address, 0x200U);
  EXPECT_EQ(state.mask, 0xff000000ffffffffU);
  EXPECT_FALSE(state.skip_if_jump);
  // In front of it, too far behind it: the compile id alone, which says nothing of a trampoline.
  for (const uint64_t elsewhere : {uint64_t{0x1ff}, uint64_t{0x203}, uint64_t{0x208}}) {
    body.identity[1].address = elsewhere;
    EXPECT_EQ(hit_check_of(body).mask, 0xffffffffU) << elsewhere;
    EXPECT_EQ(state_check_of(body).address, 0U) << elsewhere;
  }
  body.identity.clear();
  EXPECT_EQ(state_check_of(body).address, 0U);
}

}  // namespace
}  // namespace jitscope
