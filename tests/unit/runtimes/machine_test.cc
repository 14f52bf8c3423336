#include "runtimes/machine.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <vector>

namespace jitscope {
namespace {

std::vector<std::byte> header(unsigned char order, unsigned char first, unsigned char second) {
  std::vector<std::byte> bytes(20);
  const std::string_view magic =
      "\x7f"
      "ELF";
  for (size_t i = 0; i < magic.size(); ++i) bytes[i] = static_cast<std::byte>(magic[i]);
  bytes[4] = std::byte{2};
  bytes[5] = std::byte{order};
  bytes[18] = std::byte{first};
  bytes[19] = std::byte{second};
  return bytes;
}

TEST(ForeignMachine, IsReadFromTheHeader) {
  EXPECT_EQ(foreign_machine(header(1, 62, 0)), "");
  EXPECT_EQ(foreign_machine(header(1, 183, 0)), "aarch64");
  EXPECT_EQ(foreign_machine(header(2, 0, 22)), "s390x");
  EXPECT_EQ(foreign_machine(header(1, 0xff, 0xff)), "ELF machine 65535");
}

TEST(ForeignMachine, WhatIsNoElfFileSaysNothing) {
  EXPECT_EQ(foreign_machine(std::vector<std::byte>(20)), "");
  EXPECT_EQ(foreign_machine(std::vector<std::byte>()), "");
  auto cut = header(1, 183, 0);
  cut.pop_back();
  EXPECT_EQ(foreign_machine(cut), "");
}

}  // namespace
}  // namespace jitscope
