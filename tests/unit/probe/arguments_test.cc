// Arguments by the compiled calling conventions of HotSpot and V8, with garbage where it may be.
#include "probe/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace jitscope {
namespace {

using Kind = ArgumentValue::Kind;

Hit call_with(std::initializer_list<uint64_t> registers) {
  Hit call;
  for (auto& each : call.registers) each = 0xbad0bad0bad0bad0;
  std::ranges::copy(registers, call.registers.begin());
  return call;
}

CodeBody hotspot(std::vector<Parameter> parameters) {
  CodeBody body;
  body.convention = CallConvention::hotspot_x86_64;
  body.parameters = std::make_shared<const std::vector<Parameter>>(std::move(parameters));
  return body;
}

constexpr uint64_t garbage = 0xdeadbeef'00000000;

TEST(HotspotArguments, EveryTypeFromARegisterWithGarbageAbove) {
  const auto one = [](ValueType type, uint64_t value) {
    const CodeBody body = hotspot({{type, "t"}});
    auto values = decode_arguments(body, call_with({value}));
    EXPECT_EQ(values.size(), 1U);
    return values.at(0);
  };
  EXPECT_EQ(one(ValueType::int_, garbage | 0xffffffff).integer, -1);
  EXPECT_EQ(one(ValueType::int_, garbage | 0x7fffffff).integer, INT32_MAX);
  EXPECT_EQ(one(ValueType::int_, garbage | 0x80000000).integer, INT32_MIN);
  EXPECT_EQ(one(ValueType::short_, garbage | 0x12348000).integer, INT16_MIN);
  EXPECT_EQ(one(ValueType::byte_, garbage | 0x123480ff).integer, -1);
  EXPECT_EQ(one(ValueType::long_, UINT64_MAX).integer, -1);
  EXPECT_EQ(one(ValueType::long_, uint64_t{1} << 63U).integer, INT64_MIN);
  for (const ValueType type :
       {ValueType::int_, ValueType::short_, ValueType::byte_, ValueType::long_}) {
    EXPECT_EQ(one(type, 5).kind, Kind::integer);
  }
  EXPECT_EQ(one(ValueType::boolean_, garbage | 0x100).integer, 0);
  EXPECT_EQ(one(ValueType::boolean_, garbage | 1).integer, 1);
  EXPECT_EQ(one(ValueType::boolean_, 0x80).integer, 1);
  EXPECT_EQ(one(ValueType::boolean_, 1).kind, Kind::boolean);
  EXPECT_EQ(one(ValueType::char_, garbage | 0x1234ffff).integer, 0xffff);
  EXPECT_EQ(one(ValueType::char_, 'a').kind, Kind::character);
  EXPECT_EQ(one(ValueType::reference, 0x7fff'1234).address, 0x7fff1234U);
  EXPECT_EQ(one(ValueType::reference, 0).kind, Kind::address);
  EXPECT_EQ(one(ValueType::float_, 5).kind, Kind::unknown);
  EXPECT_EQ(one(ValueType::double_, 5).kind, Kind::unknown);
  EXPECT_EQ(one(ValueType::js_value, 5).kind, Kind::unknown);
}

TEST(HotspotArguments, SixIntegerRegistersTheRestIsUnknown) {
  std::vector<Parameter> parameters(9, {ValueType::int_, "int"});
  const CodeBody body = hotspot(parameters);
  const auto values = decode_arguments(body, call_with({1, 2, 3, 4, 5, 6}));
  ASSERT_EQ(values.size(), 9U);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(values[i].kind, Kind::integer);
    EXPECT_EQ(values[i].integer, static_cast<int64_t>(i) + 1);
  }
  for (size_t i = 6; i < 9; ++i) {
    EXPECT_EQ(values[i].kind, Kind::unknown);
    EXPECT_EQ(values[i].type, "int");
  }
}

TEST(HotspotArguments, FloatsTakeNoIntegerRegister) {
  const CodeBody body = hotspot({{ValueType::double_, "double"},
                                 {ValueType::int_, "int"},
                                 {ValueType::float_, "float"},
                                 {ValueType::long_, "long"},
                                 {ValueType::double_, "double"},
                                 {ValueType::reference, "java.lang.String"}});
  const auto values = decode_arguments(body, call_with({10, 20, 30}));
  ASSERT_EQ(values.size(), 6U);
  EXPECT_EQ(values[0].kind, Kind::unknown);
  EXPECT_EQ(values[1].integer, 10);
  EXPECT_EQ(values[2].kind, Kind::unknown);
  EXPECT_EQ(values[3].integer, 20);
  EXPECT_EQ(values[4].kind, Kind::unknown);
  EXPECT_EQ(values[5].address, 30U);
  EXPECT_EQ(values[5].type, "java.lang.String");
}

TEST(HotspotArguments, AnInstanceMethodHasThisFirst) {
  const auto call = call_with({0x1000, 7});
  const CodeBody instance = hotspot({{ValueType::reference, "this"}, {ValueType::int_, "int"}});
  const auto with_this = decode_arguments(instance, call);
  EXPECT_EQ(with_this.at(0).address, 0x1000U);
  EXPECT_EQ(with_this.at(1).integer, 7);
  const CodeBody in_class = hotspot({{ValueType::int_, "int"}});
  EXPECT_EQ(decode_arguments(in_class, call).at(0).integer, 0x1000);
}

TEST(HotspotArguments, NothingIsKnownWithoutParametersOrConvention) {
  CodeBody body = hotspot({{ValueType::int_, "int"}});
  body.parameters = nullptr;
  EXPECT_TRUE(decode_arguments(body, call_with({1})).empty());
  body = hotspot({{ValueType::int_, "int"}});
  body.convention = CallConvention::unknown;
  EXPECT_TRUE(decode_arguments(body, call_with({1})).empty());
  EXPECT_TRUE(decode_arguments(hotspot({}), call_with({1})).empty());
}

std::vector<ArgumentValue> v8(uint64_t count, std::initializer_list<uint64_t> words) {
  CodeBody body;
  body.convention = CallConvention::v8_x86_64;
  Hit call;
  for (auto& each : call.words) each = 0xbad0bad0bad0bad1;
  call.rax = count;
  call.words_valid = true;
  call.words[0] = 0x401000;  // return address
  call.words[1] = 0x5001;    // receiver
  std::ranges::copy(words, call.words.begin() + 2);
  return decode_arguments(body, call);
}
constexpr uint64_t smi(int32_t value) {
  return static_cast<uint64_t>(static_cast<uint32_t>(value)) << 32U;
}

TEST(V8Arguments, SmallIntegersObjectsAndOddTags) {
  const auto values = v8(6, {smi(42), smi(-1), smi(INT32_MIN), 0x7f00'0001, 0x7f00'0003});
  ASSERT_EQ(values.size(), 5U);
  EXPECT_EQ(values[0].kind, Kind::integer);
  EXPECT_EQ(values[0].integer, 42);
  EXPECT_EQ(values[1].integer, -1);
  EXPECT_EQ(values[2].integer, INT32_MIN);
  EXPECT_EQ(values[3].kind, Kind::address);
  EXPECT_EQ(values[3].address, 0x7f000000U);
  EXPECT_EQ(values[4].kind, Kind::unknown);  // a weak reference is no argument
  const auto odd = v8(4, {0x1234'0000'0002, 0x10, 0});
  EXPECT_EQ(odd.at(0).kind, Kind::unknown);
  EXPECT_EQ(odd.at(1).kind, Kind::unknown);
  EXPECT_EQ(odd.at(2).integer, 0);
}

TEST(V8Arguments, TheCountIncludesTheReceiver) {
  EXPECT_TRUE(v8(1, {smi(1)}).empty());
  EXPECT_EQ(v8(2, {smi(1)}).size(), 1U);
}

TEST(V8Arguments, NonsenseInRaxGivesNothing) {
  EXPECT_TRUE(v8(0, {smi(1)}).empty());
  EXPECT_TRUE(v8(0x10000, {smi(1)}).empty());
  EXPECT_TRUE(v8(UINT64_MAX, {smi(1)}).empty());
  EXPECT_TRUE(v8(0x7f00'1234'5678, {smi(1)}).empty());
}

TEST(V8Arguments, WhatWasNotCopiedIsUnknownAndBounded) {
  const auto values = v8(0xffff, {smi(1), smi(2), smi(3), smi(4), smi(5), smi(6)});
  ASSERT_GT(values.size(), 6U);
  EXPECT_LE(values.size(), 32U);
  EXPECT_EQ(values[5].integer, 6);
  EXPECT_EQ(values[6].kind, Kind::unknown);
}

TEST(V8Arguments, WithoutTheStackNothingIsGuessed) {
  CodeBody body;
  body.convention = CallConvention::v8_x86_64;
  Hit call;
  call.rax = 3;
  EXPECT_TRUE(decode_arguments(body, call).empty());
}

}  // namespace
}  // namespace jitscope
