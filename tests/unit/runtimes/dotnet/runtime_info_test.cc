#include "runtimes/dotnet/runtime_info.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace jitscope {
namespace {

constexpr uint64_t kAddress = 0x7000;

// Memory with one variable, after which nothing is mapped.
class OneVariable : public MemoryReader {
 public:
  explicit OneVariable(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}
  Status read(uint64_t address, std::span<std::byte> out) override {
    const uint64_t at = address - kAddress;
    if (at > bytes_.size() || out.size() > bytes_.size() - at) {
      return fail(ErrorKind::damaged, "not mapped");
    }
    std::memcpy(out.data(), bytes_.data() + at, out.size());
    return {};
  }

 private:
  std::vector<uint8_t> bytes_;
};

void put(std::vector<uint8_t>& bytes, size_t at, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

std::vector<uint8_t> variable(uint32_t layout, size_t size) {
  std::vector<uint8_t> bytes(std::max<size_t>(size, 24), 0xee);
  std::ranges::copy(std::string_view("DotNetRuntimeInfo\0", 18), bytes.begin());
  put(bytes, 20, layout);
  bytes.resize(size);
  return bytes;
}

std::string read(std::vector<uint8_t> bytes) {
  OneVariable memory(std::move(bytes));
  return read_runtime_info(memory, kAddress);
}

TEST(RuntimeInfo, VersionOfTheRuntime) {
  auto bytes = variable(2, 112);
  put(bytes, 96, 8);
  put(bytes, 100, 0);
  put(bytes, 104, 3026);
  put(bytes, 108, 36720);
  EXPECT_EQ(read(bytes), "8.0.30");
  put(bytes, 96, 0xffffffff);
  EXPECT_EQ(read(bytes), "");
}

TEST(RuntimeInfo, OlderRuntimesHaveNone) {
  EXPECT_EQ(read(variable(1, 96)), "before 8");
}

TEST(RuntimeInfo, WhatIsCutOrAnotherVariable) {
  EXPECT_EQ(read(variable(2, 96)), "");
  EXPECT_EQ(read(variable(2, 20)), "");
  auto other = variable(2, 112);
  other[0] = 'd';
  EXPECT_EQ(read(other), "");
  auto endless = variable(2, 112);
  std::ranges::fill(endless, 'D');
  EXPECT_EQ(read(endless), "");
}

TEST(RuntimeInfo, ThisProgramHasNoSuchVariable) {
  const auto process = Process::open(::getpid());
  ASSERT_TRUE(process);
  EXPECT_EQ(single_file_version(*process), "");
}

}  // namespace
}  // namespace jitscope
