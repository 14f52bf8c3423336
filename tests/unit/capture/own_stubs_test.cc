// Looks at this very process, in which pages are made that look like those of .NET's runtime.
#include "capture/own_stubs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "code/recorded_name.h"
#include "formats/jitdump/jitdump.h"
#include "support/scratch_folder.h"

namespace jitscope {
namespace {

using ::testing::ElementsAre;

constexpr std::array<unsigned char, 24> kPrecode = {0xff, 0x25, 0xfa, 0x3f, 0, 0,    0x4c, 0x8b,
                                                    0x15, 0xfb, 0x3f, 0,    0, 0xff, 0x25, 0xfd,
                                                    0x3f, 0,    0,    0x90, 0, 0,    0,    0};

struct Records : jitdump::Handler {
  std::vector<std::string> all;
  uint64_t page = 0;
  uint64_t since = 0;
  bool on_load(const jitdump::Load& load) override {
    since = load.since;
    all.push_back(std::string(load.name) + " at " + std::to_string(load.address - page) + " of " +
                  std::to_string(load.size));
    return true;
  }
  bool on_move(const jitdump::Move& /*move*/) override { return true; }
  bool on_gone(const jitdump::Gone& gone) override {
    all.push_back("gone at " + std::to_string(gone.address - page));
    return true;
  }
  bool on_close(const jitdump::Close& /*close*/) override {
    all.emplace_back("end");
    return true;
  }
};

class OwnStubsTest : public test::ScratchFolderTest {
 protected:
  void SetUp() override {
    ScratchFolderTest::SetUp();
    page_ = static_cast<unsigned char*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(page_, MAP_FAILED);
  }
  void TearDown() override {
    ::munmap(page_, 4096);
    ScratchFolderTest::TearDown();
  }
  void put(size_t at) { std::ranges::copy(kPrecode, page_ + at); }
  [[nodiscard]] Records records() const {
    Records out;
    out.page = reinterpret_cast<uint64_t>(page_);
    auto source = open_byte_source(folder_ + "/jit-1-2.stubs.dump");
    EXPECT_TRUE(source);
    if (!source) return out;
    auto reader = jitdump::Reader::open(std::move(*source));
    EXPECT_TRUE(reader && (*reader)->read(out));
    return out;
  }

  unsigned char* page_ = nullptr;
};

TEST_F(OwnStubsTest, WhatComesAndGoesIsWrittenDown) {
  const auto process = Process::open(::getpid());
  ASSERT_TRUE(process);
  OwnStubs stubs(folder_ + "/jit-1-2.dump", ::getpid(), {});
  const uint64_t begin = monotonic_ns();
  put(64);
  stubs.look(*process, Runtime::dotnet, begin);
  EXPECT_GT(stubs.due(), begin);
  EXPECT_NE(stubs.due(), UINT64_MAX);
  const std::string name = encode_recorded_name("[FixupPrecode]", Tier::stub, Runtime::dotnet);
  EXPECT_THAT(records().all, ElementsAre(name + " at 64 of 24"));
  EXPECT_EQ(records().since, begin);
  // Not before it is due; the last look comes in any case.
  put(88);
  stubs.look(*process, Runtime::dotnet, begin);
  EXPECT_EQ(records().all.size(), 1U);
  stubs.finish(*process, monotonic_ns());
  EXPECT_THAT(records().all,
              ElementsAre(name + " at 64 of 24", "gone at 64", name + " at 64 of 48", "end"));
}

TEST_F(OwnStubsTest, ARuntimeWithoutSuchCodeIsNotLookedAt) {
  const auto process = Process::open(::getpid());
  ASSERT_TRUE(process);
  put(64);
  OwnStubs stubs(folder_ + "/jit-1-2.dump", ::getpid(), {});
  stubs.look(*process, Runtime::hotspot, monotonic_ns());
  EXPECT_EQ(stubs.due(), UINT64_MAX);
  stubs.finish(*process, monotonic_ns());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace jitscope
