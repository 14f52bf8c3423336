// .NET's own code, written here byte by byte as .NET 8 has it in memory.
#include "runtimes/dotnet/dotnet_stubs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "fuzz/dotnet_stubs_check.h"
#include "runtimes/dotnet/stub_patterns.h"
#include "unit/corpus.h"

namespace jitscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kAt = fuzz::kStubsAt;

// Hexadecimal digits; blanks do not count.
std::string bytes_of_hex(std::string_view hex) {
  std::string out;
  std::string digits;
  for (const char c : hex) {
    if (c == ' ') continue;
    digits += c;
    if (digits.size() < 2) continue;
    out += static_cast<char>(std::strtoul(digits.c_str(), nullptr, 16));
    digits.clear();
  }
  return out;
}

std::string filled(std::string text, size_t size, char with) {
  text.resize(size, with);
  return text;
}

const std::string kFixup =
    filled(bytes_of_hex("ff25fa3f0000 4c8b15fb3f0000 ff25fd3f0000 90488b05f9"), 24, '\0');
const std::string kPrecode =
    filled(bytes_of_hex("4c8b15f93f0000 ff25fb3f0000 90ff25fa3f00004c8b15fb"), 24, '\0');
const std::string kCounting = bytes_of_hex("488b05f93f0000 66ff08 7406 ff25f63f0000 ff25f83f0000");
const std::string kHelperCall = bytes_of_hex("48bf7056341278560000 e9e1000000 cc");
const std::string kHelperMove = bytes_of_hex("488bf7 48bf7056341278560000 e9e1000000 cccccccccccc");
const std::string kConstant = bytes_of_hex("48b87056341278560000 c3 cccccccccc");
const std::string kIndirect = bytes_of_hex("48a17056341278560000 4883c008 c3 cc");
const std::string kDictionary = bytes_of_hex(
    "488b4730 488b4000 488b4018 4885c0 7401 c3 48be7056341278560000 e94f000000 cccccccccccccc");
const std::string kChecked =
    bytes_of_hex("c3 488d0568014600 483b38 7212 488d0564014600 483b38 7306 ff2529f04400 488937 c3");
// The variants for regions by bits and by bytes, and the one of a server.
const std::string kByBits = bytes_of_hex(
    "488937 4989f8 48b800da5005857f0000 48c1ef16 803c0700 7504 f3c3 6690 49b900000090857f0000 "
    "4c39ce"
    "7301 c3 49b900000090c57f0000 4c39ce 7202 f3c3 48c1ee16 8a1406 3a1407 7203 f3c3 90"
    "48b840f09a02757f0000 4489c1 49c1e80b c1e908 83e107 b201 d2e2 41841400 7402 f3c3 f041081400"
    "48b8c0c350ff847f0000 49c1e80a 41803c00ff 7502 f3c3 41c60400ff c3");
const std::string kServer = bytes_of_hex(
    "488937 0f1f00 48b8000000842e7f0000 4839c6 724b 90 48b840707c011e7f0000 48c1ef0b 803c07ff 7502"
    "f3c3 c60407ff 660f1f440000 48b8207c53f32d7f0000 48c1ef0a 803c07ff 7502 f3c3 c60407ff c3"
    "662e0f1f840000000000 0f1f440000 f3c3");
// Behind a header: users, size and flags.
const std::string kShuffle = filled(
    bytes_of_hex("03000000 28000024 0000000000000000"
                 "488bc4 4989fb 4889f7 4889d6 4d8b5320 4983c320 49ffe2 01800080 02800180 ffff0000"),
    16 + 0x28, '\0');
const std::string kUnboxing =
    filled(bytes_of_hex("01000000 10000030 903df25ffc550000 4883c708 48b8 0800010000000000 ffe0"),
           32, '\0');
const std::string kInstantiating =
    filled(bytes_of_hex("01000000 20000030 e0f0ec5ffc550000 4889d1 4889f2 48be60f1ec5ffc550000"
                        "48b8 0800010000000000 ffe0"),
           16 + 0x20, '\0');
const std::string kResolve = bytes_of_hex(
    "488b07 52 49ba309b8809fd550000 488bd0 48c1e80c 4803c2 4835702c0000 4825f87f0000 4a8b0410"
    "49ba0000000004000000 483b5000 752b 4c3b5008 7525 488b4010 5a ffe0 48b804438609fd550000 8300ff"
    "7dac 4983cb01 52 49ba0000000004000000 50 48b8 0800010000000000 ffe0");
const std::string kDispatch =
    bytes_of_hex("48b8f8a0e85ffc550000 483907 90 48b820bf385ffc550000 0f8517000000 ffe0");
const std::string kLookup = bytes_of_hex("90 48b80100000002000000 50 48b8 0800010000000000 ffe0");

// Of .NET Core 2.0.
const std::string kOldFixup = bytes_of_hex("e8033e0000 5e0700");
const std::string kOldFixed = bytes_of_hex("e9db910000 5f0001");
const std::string kOldDispatch =
    bytes_of_hex("48b818abc090477f0000 483907 0f8522f10000 48b8703fa190477f0000 ffe0 cc");
const std::string kOldResolve = bytes_of_hex(
    "52 49ba482fb70100000000 488b07 488bd0 48c1e80c 4803c2 4835f02e0000 4825f87f0000 4a8b0410"
    "49ba0000000003000000 483b5000 752b 4c3b5008 7525 488b4010 5a ffe0 48b88451ad0100000000 8300ff"
    "7dac 4983cb01 52 49ba0000000003000000 50 48b8 0800010000000000 ffe0");
const std::string kOldShuffle = filled(
    bytes_of_hex("02000000 00000020 28000000 00000000"
                 "488bc4 4989fb 4889f7 4889d6 4d8b5320 4983c320 49ffe2 01800080 02800180 ffff0000"),
    16 + 0x28, '\0');
const std::string kOldUnboxing = filled(
    bytes_of_hex("01000000 00000020 18000000 00000000 4883c708 48b898d9c090477f0000 488b00 ffe0"),
    16 + 0x18, '\0');

const std::vector<std::pair<std::string, std::string>> kStubs = {
    {"[FixupPrecode]", kOldFixup},
    {"[FixupPrecode]", kOldFixed},
    {"[DispatchStub]", kOldDispatch},
    {"[ResolveStub]", kOldResolve},
    {"[ShuffleThunk]", kOldShuffle},
    {"[UnboxingStub]", kOldUnboxing},
    {"[FixupPrecode]", kFixup},
    {"[StubPrecode]", kPrecode},
    {"[CallCountingStub]", kCounting},
    {"[DynamicHelper]", kHelperCall},
    {"[DynamicHelper]", kHelperMove},
    {"[DynamicHelper]", kConstant},
    {"[DynamicHelper]", kIndirect},
    {"[DynamicHelper]", kDictionary},
    {"[JIT_CheckedWriteBarrier]", kChecked},
    {"[JIT_WriteBarrier]", kByBits},
    {"[JIT_WriteBarrier]", kServer},
    {"[ShuffleThunk]", kShuffle},
    {"[UnboxingStub]", kUnboxing},
    {"[InstantiatingStub]", kInstantiating},
    {"[ResolveStub]", kResolve},
    {"[DispatchStub]", kDispatch},
    {"[LookupStub]", kLookup},
};

std::span<const std::byte> as_code(const std::string& text) {
  return std::as_bytes(std::span(text));
}

bool in_memory(uint64_t address) {
  return address >= kAt && address < kAt + 0x10000;
}

TEST(DotnetStubs, EachKindIsKnown) {
  for (const auto& [name, code] : kStubs) {
    const std::string memory = code + std::string(64, '\0');
    const auto found = dotnet_stub_at(as_code(memory), kAt, in_memory);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->name, name);
    EXPECT_EQ(found->begin + found->size, code.size()) << name;
    const bool header =
        name == "[ShuffleThunk]" || name == "[UnboxingStub]" || name == "[InstantiatingStub]";
    const size_t begin = name == "[JIT_CheckedWriteBarrier]" ? 1 : header ? 16 : 0;
    EXPECT_EQ(found->begin, begin) << name;
  }
}

// Whatever is cut off, and all that jumps lead out of what is executable: no name.
TEST(DotnetStubs, AnythingLessIsNothing) {
  for (const auto& [name, code] : kStubs) {
    for (size_t size = 0; size < 8; ++size) {
      EXPECT_FALSE(dotnet_stub_at(as_code(code).first(size), kAt, in_memory)) << name << size;
    }
  }
  const auto nowhere = [](uint64_t) { return false; };
  for (const std::string* code : {&kHelperCall, &kHelperMove, &kDictionary, &kUnboxing,
                                  &kInstantiating, &kResolve, &kDispatch, &kLookup}) {
    EXPECT_FALSE(dotnet_stub_at(as_code(*code), kAt, nowhere));
  }
}

TEST(DotnetStubs, WhatMustAgreeDecides) {
  const auto changed = [](std::string code, size_t at, char to) {
    code[at] = to;
    return code;
  };
  for (const std::string& code : {
           changed(kFixup, 9, '\x03'),      // the method's word is not behind the target's
           changed(kFixup, 3, '\x2f'),      // no page's distance
           changed(kPrecode, 9, '\xfa'),    // as in the first
           changed(kCounting, 20, '\xf9'),  // as in the first
           changed(kHelperCall, 15, '\x90'), changed(kConstant, 12, '\0'),
           changed(kDictionary, 5, '\x89'), changed(kByBits, 7, '\xc3'),
           changed(kChecked, 0, '\x90'), changed(kShuffle, 7, '\x25'),
           changed(kUnboxing, 0, '\0'),  // nobody's
       }) {
    EXPECT_FALSE(dotnet_stub_at(as_code(code), kAt, in_memory));
  }
  // The checked barrier begins a page.
  EXPECT_FALSE(dotnet_stub_at(as_code(kChecked), kAt + 8, in_memory));
  // A barrier that marks nothing, and one whose jump leads out of it.
  EXPECT_FALSE(
      dotnet_stub_at(as_code(bytes_of_hex("488937 48b80000000000000000 c3 90")), kAt, in_memory));
  EXPECT_FALSE(dotnet_stub_at(as_code(bytes_of_hex("488937 727f c60407ff c3 90")), kAt, in_memory));
}

std::vector<std::pair<uint64_t, std::string>> found_in(const std::string& memory,
                                                       std::vector<Mapping> maps) {
  fuzz::StubMemory reader(as_code(memory));
  std::vector<std::pair<uint64_t, std::string>> result;
  for (const CodeBody& body : find_dotnet_stubs(maps, reader).bodies) {
    EXPECT_EQ(body.tier, Tier::stub);
    result.emplace_back(body.address - kAt, body.name->display() + " " + std::to_string(body.size));
  }
  return result;
}

TEST(DotnetStubs, NeighboursOfOneKindAreOneBody) {
  const std::string memory = filled(kChecked, 0x30, '\x90') + filled(kByBits, 0xa8, '\0') + kFixup +
                             kFixup + kFixup + std::string(8, '\xcc') + kHelperCall + kHelperMove +
                             kCounting + std::string(256, '\0');
  EXPECT_THAT(
      found_in(memory, fuzz::stub_maps(memory.size())),
      ElementsAre(std::pair(1, "[JIT_CheckedWriteBarrier] 34"),
                  std::pair(0x30, "[JIT_WriteBarrier] 147"), std::pair(0xd8, "[FixupPrecode] 72"),
                  std::pair(0x128, "[DynamicHelper] 40"),
                  std::pair(0x150, "[CallCountingStub] 24")));
}

TEST(DotnetStubs, OnlyMemoryOfTheRuntimeIsLookedAt) {
  const std::string memory = kFixup + kFixup;
  auto maps = fuzz::stub_maps(memory.size());
  maps[0].inode = 7;
  maps[0].path = "/memfd:doublemapper";
  EXPECT_THAT(found_in(memory, maps), ElementsAre(std::pair(0, "[FixupPrecode] 48")));
  maps[0].path = "/usr/lib/libc.so.6";
  EXPECT_THAT(found_in(memory, maps), IsEmpty());
  maps = fuzz::stub_maps(memory.size());
  maps[0].executable = false;
  EXPECT_THAT(found_in(memory, maps), IsEmpty());
  // What cannot be read is told of.
  maps = fuzz::stub_maps(memory.size() + 4096);
  fuzz::StubMemory reader(as_code(memory));
  EXPECT_EQ(find_dotnet_stubs(maps, reader).torn, 1U);
}

TEST(DotnetStubs, AnyBytesAreSafe) {
  for (const auto& [name, code] : kStubs) {
    std::string memory = code + std::string(64, '\xcc') + code;
    for (size_t at = 0; at < memory.size(); ++at) {
      for (const char flip : {'\x01', '\x40', '\x80', '\xff'}) {
        memory[at] = static_cast<char>(memory[at] ^ flip);
        EXPECT_EQ(fuzz::check_dotnet_stubs(as_code(memory)), "") << name << " at " << at;
        memory[at] = static_cast<char>(memory[at] ^ flip);
      }
      EXPECT_EQ(fuzz::check_dotnet_stubs(as_code(memory).first(at)), "") << name << " cut " << at;
    }
  }
  EXPECT_GE(test::replay_corpus("dotnet_stubs", fuzz::check_dotnet_stubs), 2U);
}

}  // namespace
}  // namespace jitscope
