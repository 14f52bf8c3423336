// The zstd stream of a recording: what comes out of it is bounded by what went in.
#include "formats/perfdata/inflate.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <string>
#include <vector>

namespace jitscope::perfdata {
namespace {

std::vector<std::byte> packed(const std::string& text) {
  std::vector<std::byte> out(ZSTD_compressBound(text.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

uint64_t unpack_all(Inflater& inflater, const std::vector<std::byte>& data) {
  inflater.feed(data);
  std::vector<std::byte> room(1U << 16U);
  uint64_t total = 0;
  while (const size_t got = inflater.unpack(room)) total += got;
  return total;
}

TEST(Inflater, WhatIsSensibleComesOutWhole) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919);
  Inflater inflater(0);
  EXPECT_EQ(unpack_all(inflater, packed(text)), text.size());
  EXPECT_FALSE(inflater.broken());
}

TEST(Inflater, ALittleOfNothingMayBecomeLarge) {
  Inflater inflater(16U << 20U);
  EXPECT_EQ(unpack_all(inflater, packed(std::string(10U << 20U, ' '))), 10U << 20U);
  EXPECT_FALSE(inflater.broken());
}

TEST(Inflater, MoreThanIsSensibleDoesNotComeOut) {
  const std::vector<std::byte> data = packed(std::string(64U << 20U, ' '));
  Inflater inflater(1U << 20U);
  const uint64_t got = unpack_all(inflater, data);
  EXPECT_LT(got, (2U << 20U) + Inflater::kMostGrowth * data.size());
  EXPECT_TRUE(inflater.excessive());
  EXPECT_EQ(unpack_all(inflater, packed("more")), 0U) << "nothing after it either";
}

}  // namespace
}  // namespace jitscope::perfdata
