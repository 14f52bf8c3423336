// The stub's bytes, run in this very process; and the search for padding.
#include "surgery/stub.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "surgery/padding.h"

namespace jitscope {
namespace {

using Kind = RemoteArgument::Kind;

std::span<const std::byte> view(const std::vector<std::byte>& bytes) {
  return bytes;
}

std::vector<RemoteCall> open_and_close(const std::string& path) {
  return {{SYS_openat,
           {{Kind::number, static_cast<uint64_t>(AT_FDCWD), {}},
            {Kind::text, 0, path},
            {Kind::number, O_RDONLY, {}}},
           {}},
          {SYS_close, {{Kind::from_result, 0, {}}}, {}}};
}

TEST(Stub, RefusesWhatMakesNoSense) {
  std::vector<RemoteCall> calls = open_and_close(std::string(2000, 'x'));
  EXPECT_EQ(stub_size(calls).error().kind, ErrorKind::usage);
  calls = open_and_close(std::string("a\0b", 3));
  EXPECT_EQ(stub_size(calls).error().kind, ErrorKind::usage);
  calls = open_and_close("/a");
  calls[1].arguments[0].number = 1;  // its own result
  EXPECT_EQ(stub_size(calls).error().kind, ErrorKind::usage);
  calls[1].arguments.assign(7, {});
  EXPECT_EQ(stub_size(calls).error().kind, ErrorKind::usage);
  calls.clear();
  for (int i = 0; i < 7; ++i) calls.push_back({SYS_getpid, {}, {}});
  for (uint64_t i = 0; i < 6; ++i) calls.push_back({SYS_close, {{Kind::from_result, i, {}}}, {}});
  EXPECT_EQ(stub_size(calls).error().kind, ErrorKind::usage);
}

TEST(Stub, SizeDoesNotDependOnAddressOrRegisters) {
  const auto calls = open_and_close("/etc/hostname");
  const auto size = stub_size(calls);
  ASSERT_TRUE(size);
  Registers back{};
  std::memset(&back, 0xff, sizeof(back));
  const auto stub = assemble_stub(calls, 0x7fffdeadb000, back);
  ASSERT_TRUE(stub);
  EXPECT_EQ(stub->size(), *size);
  EXPECT_LT(stub->size(), 400U);
  EXPECT_EQ(std::memcmp(stub->data(), kStubMagic.data(), kStubMagic.size()), 0);
}

TEST(Padding, BehindTheLastByteWithAMargin) {
  std::vector<std::byte> page(4096);
  page[100] = std::byte{0xc3};
  const auto padding = padding_in_page(view(page), 0x10000);
  ASSERT_TRUE(padding);
  EXPECT_EQ(padding->address % 32, 0U);
  EXPECT_GE(padding->address, 0xf000U + 101 + 64);
  EXPECT_LT(padding->address, 0xf000U + 101 + 64 + 32);
  EXPECT_EQ(padding->address + padding->size, 0x10000U);
  EXPECT_EQ(padding->leftover, 0U);
  page[4090] = std::byte{1};
  EXPECT_FALSE(padding_in_page(view(page), 0x10000));
}

TEST(Padding, KnowsALeftoverStub) {
  std::vector<std::byte> page(4096);
  page[100] = std::byte{0xc3};
  const auto before = padding_in_page(view(page), 0x10000);
  const auto calls = open_and_close("/etc/hostname");
  const auto stub = assemble_stub(calls, before->address, Registers{});
  ASSERT_TRUE(stub);
  std::ranges::copy(*stub, page.begin() + static_cast<long>(before->address - 0xf000));
  const auto after = padding_in_page(view(page), 0x10000);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->address, before->address);
  EXPECT_EQ(after->leftover, stub->size());
  EXPECT_EQ(after->size, before->size);
  // Something behind it, a size that is too large, or code right before it: not ours.
  auto other = page;
  other[4095] = std::byte{1};
  EXPECT_FALSE(padding_in_page(view(other), 0x10000));
  other = page;
  other[before->address - 0xf000 + kStubSizeAt + 1] = std::byte{0xff};
  EXPECT_FALSE(padding_in_page(view(other), 0x10000));
  other = page;
  other[before->address - 0xf000 - 1] = std::byte{0xc3};
  EXPECT_FALSE(padding_in_page(view(other), 0x10000));
}

}  // namespace
}  // namespace jitscope
