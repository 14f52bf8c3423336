// Formats of tracepoints and their payloads, whole and damaged.
#include "formats/perfdata/trace_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuzz/trace_format_check.h"
#include "support/tracing_data.h"
#include "unit/corpus.h"

namespace jitscope::perfdata {
namespace {

using test::Bytes;
using ::testing::ElementsAre;

constexpr std::string_view kFormat =
    "name: oddities\nID: 365\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:int prio;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:unsigned int flags;\toffset:24;\tsize:4;\tsigned:0;\n"
    "\tfield:short small;\toffset:24;\tsize:2;\tsigned:1;\n"
    "\tfield:const char * pointer;\toffset:32;\tsize:8;\tsigned:0;\n"
    "\tfield:unsigned long address;\toffset:32;\tsize:8;\tsigned:0;\n"
    "\tfield:__data_loc char[] filename;\toffset:28;\tsize:4;\tsigned:0;\n"
    "\tfield:__rel_loc char[] rel;\toffset:40;\tsize:4;\tsigned:0;\n"
    "\tfield:u16 pair[2];\toffset:24;\tsize:4;\tsigned:0;\n"
    "\tfield:u8 mac[sizeof(struct mac)];\toffset:8;\tsize:3;\tsigned:0;\n"
    "\tfield:int behind;\toffset:60000;\tsize:4;\tsigned:1;\n"
    "\tfield:broken\n\tfield:int;\toffset:1;\n"
    "\nprint fmt: \"%s\", REC->comm\n\tfield:int not_one;\toffset:0;\tsize:4;\tsigned:1;\n";

std::vector<std::byte> payload() {
  Bytes bytes;
  bytes.u64(365).chars("a comm").zeros(10).u32(static_cast<uint32_t>(-2));
  bytes.u32(44 | 5U << 16U).u64(0xffff800000001000);
  bytes.u32(1 | 3U << 16U);  // from the end of the field on
  return bytes.chars("/bin").zeros(1).data();
}

std::string shown(const TraceField& field, std::span<const std::byte> bytes) {
  TraceValue value;
  if (!read_trace_field(field, bytes, value)) return field.name + " none";
  std::string out = field.name;
  if (const auto* text = std::get_if<std::string_view>(&value))
    return out + " " + std::string(*text);
  if (const auto* number = std::get_if<uint64_t>(&value)) {
    const bool hex = field.kind == TraceField::Kind::hexadecimal;
    return out + " " +
           (hex ? "hex " + std::to_string(*number) : std::to_string(static_cast<int64_t>(*number)));
  }
  for (const uint64_t each : std::get<TraceNumbers>(value)) out += " " + std::to_string(each);
  return out;
}

TEST(TraceFormat, FieldsOfAllKinds) {
  const TraceFormat format = parse_trace_format(kFormat);
  EXPECT_EQ(format.id, 365U);
  EXPECT_EQ(format.name, "oddities");
  const std::vector<std::byte> bytes = payload();
  std::vector<std::string> values;
  for (const TraceField& field : format.fields) values.push_back(shown(field, bytes));
  EXPECT_THAT(values, ElementsAre("comm a comm", "prio -2", "flags 4294967294", "small -2",
                                  "pointer hex 18446603336221200384",
                                  "address hex 18446603336221200384", "filename /bin", "rel bin",
                                  "pair 65534 65535", "mac 97 32 99", "behind none"));
}

TEST(TraceFormat, WhatIsWantedOfTheWhole) {
  const Bytes data = test::tracing_data({kFormat, "name: other\nID: 7\n", kFormat});
  EXPECT_TRUE(parse_tracing_data(data.data(), {}).empty());
  const auto formats = parse_tracing_data(data.data(), {365, 99});
  ASSERT_EQ(formats.size(), 1U);
  EXPECT_EQ(formats[0].name, "oddities");
}

TEST(TraceFormat, DamageEndsTheReading) {
  const std::vector<std::byte> whole = test::tracing_data({kFormat}).data();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(fuzz::check_trace_format(std::span(whole).first(size)), "") << size;
  }
  std::vector<std::byte> big_endian = whole;
  big_endian[14] = std::byte{1};
  EXPECT_TRUE(parse_tracing_data(big_endian, {365}).empty());
}

TEST(TraceFormat, CorpusOfTheFuzzer) {
  const auto check = [](std::span<const std::byte> bytes) {
    return fuzz::check_trace_format(bytes);
  };
  EXPECT_GE(jitscope::test::replay_corpus("trace_format", check), 3U);
}

}  // namespace
}  // namespace jitscope::perfdata
