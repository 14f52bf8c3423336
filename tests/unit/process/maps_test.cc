// Parsing of maps text, and the search for a gap within reach of a jump.
#include "process/maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace jitscope {
namespace {

constexpr uint64_t kGiB = 1ULL << 30U;
constexpr uint64_t kReach = 0x7fffffff;

Mapping map_at(uint64_t start, uint64_t end, std::string path = {}) {
  Mapping mapping;
  mapping.start = start;
  mapping.end = end;
  mapping.path = std::move(path);
  return mapping;
}

TEST(ParseMaps, ReadsAllFields) {
  const auto maps = parse_maps(
      "55d0c0a00000-55d0c0a21000 r-xp 00001000 fe:01 1234567                    /usr/bin/a b\n"
      "7f0000000000-7f0000001000 rw-s 00000000 00:05 42   /dev/zero (deleted)\n"
      "7ffd00000000-7ffd00021000 rwxp 00000000 00:00 0                          [stack]\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n");
  ASSERT_EQ(maps.size(), 4U);
  EXPECT_EQ(maps[0].start, 0x55d0c0a00000U);
  EXPECT_EQ(maps[0].end, 0x55d0c0a21000U);
  EXPECT_EQ(maps[0].offset, 0x1000U);
  EXPECT_EQ(maps[0].inode, 1234567U);
  EXPECT_EQ(maps[0].dev_major, 0xfeU);
  EXPECT_EQ(maps[0].dev_minor, 1U);
  EXPECT_TRUE(maps[0].readable && !maps[0].writable && maps[0].executable && !maps[0].shared);
  EXPECT_EQ(maps[0].path, "/usr/bin/a b");
  EXPECT_FALSE(maps[0].deleted);
  EXPECT_EQ(maps[0].map_files_path(7), "/proc/7/map_files/55d0c0a00000-55d0c0a21000");
  EXPECT_TRUE(maps[1].deleted && maps[1].shared && maps[1].file_backed());
  EXPECT_EQ(maps[1].path, "/dev/zero");
  EXPECT_EQ(maps[2].path, "[stack]");
  EXPECT_FALSE(maps[2].file_backed());
}

TEST(ParseMaps, SkipsWhatMakesNoSenseAndSorts) {
  const auto maps = parse_maps(
      "9000-a000 r--p 00000000 00:00 0\n"
      "garbage\n"
      "\n"
      "5000-4000 r--p 00000000 00:00 0\n"
      "zz-4000 r--p 00000000 00:00 0\n"
      "1000-2000 r-\n"
      "1ffffffffffffffffffff-2 r--p 0 00:00 0\n"
      "1000-2000 r--p 00000000 00:00 0");
  ASSERT_EQ(maps.size(), 2U);
  EXPECT_EQ(maps[0].start, 0x1000U);
  EXPECT_EQ(maps[1].start, 0x9000U);
}

TEST(ReadMaps, FindsOwnCodeAndStack) {
  const auto maps = read_maps(::getpid());
  ASSERT_TRUE(maps) << to_string(maps.error());
  const Mapping* code = find_mapping(*maps, reinterpret_cast<uintptr_t>(&parse_maps));
  ASSERT_NE(code, nullptr);
  EXPECT_TRUE(code->executable);
  int local = 0;
  const Mapping* stack = find_mapping(*maps, reinterpret_cast<uintptr_t>(&local));
  ASSERT_NE(stack, nullptr);
  EXPECT_TRUE(stack->writable);
  EXPECT_EQ(find_mapping(*maps, 0), nullptr);
}

TEST(ReadMaps, UnknownPidIsGone) {
  const auto maps = read_maps(0x7ffffff0);
  ASSERT_FALSE(maps);
  EXPECT_EQ(maps.error().kind, ErrorKind::target_gone);
}

TEST(FindGapNear, TakesTheNearerSide) {
  const uint64_t base = 0x7f0000000000;
  const std::vector<Mapping> maps = {map_at(base - 4 * 4096, base - 4096),
                                     map_at(base, base + 0x10000),
                                     map_at(base + 0x10000, base + 0x40000)};
  // One page is free right below; two pages are free only above or far below.
  EXPECT_EQ(find_gap_near(maps, base, base + 0x10000, 4096), base - 4096);
  EXPECT_EQ(find_gap_near(maps, base, base + 0x10000, 100), base - 4096);
  EXPECT_EQ(find_gap_near(maps, base, base + 0x10000, 8192), base - 6 * 4096);
}

TEST(FindGapNear, EveryByteIsInReachOfEveryByte) {
  // Everything within 1.9 GiB on both sides is taken.
  const uint64_t base = 0x7e0000000000;
  const uint64_t wide = 19 * kGiB / 10 / 4096 * 4096;
  const std::vector<Mapping> maps = {map_at(base - wide, base + wide)};
  const uint64_t low = base;
  const uint64_t high = base + 0x1000;
  const uint64_t gap = find_gap_near(maps, low, high, 1U << 20U);
  ASSERT_NE(gap, 0U);
  EXPECT_EQ(gap % 4096, 0U);
  EXPECT_EQ(find_mapping(maps, gap), nullptr);
  EXPECT_LE(std::max(high, gap + (1U << 20U)) - std::min(low, gap), kReach);
  // A code range that is itself almost 2 GiB leaves no place that reaches all of it.
  EXPECT_EQ(find_gap_near(maps, base - wide, base + wide, 4096), 0U);
  // Taken as far as a jump goes: none.
  const std::vector<Mapping> full = {map_at(base - 2 * kGiB, base + 2 * kGiB + 0x2000)};
  EXPECT_EQ(find_gap_near(full, low, high, 4096), 0U);
}

TEST(FindGapNear, KeepsFromTheEndsOfTheAddressSpace) {
  // Low code: below it only what lies above mmap_min_addr.
  const std::vector<Mapping> low = {map_at(0x11000, 0x400000), map_at(0x400000, 0x80000000)};
  const uint64_t gap = find_gap_near(low, 0x400000, 0x401000, 0x2000);
  EXPECT_TRUE(gap == 0 || gap >= 0x80000000) << std::hex << gap;
  EXPECT_EQ(find_gap_near(low, 0x400000, 0x401000, 0x1000), 0x10000U);
  // High code: not beyond the user's part.
  const std::vector<Mapping> high = {map_at(0x7fffa0000000, 0x7ffffffff000)};
  EXPECT_EQ(find_gap_near(high, 0x7ffff0000000, 0x7ffff0001000, 4096), 0x7fffa0000000U - 4096);
}

TEST(FindGapNear, LeavesRoomForHeapAndStackWhileItCan) {
  const uint64_t base = 0x7e0000000000;
  const std::vector<Mapping> maps = {map_at(base - kGiB, base),
                                     map_at(base, base + 0x1000, "[heap]")};
  EXPECT_GT(find_gap_near(maps, base - 0x1000, base, 4096), base + 0x1000);
  // Nothing else is free: the page behind the heap it is.
  const std::vector<Mapping> full = {map_at(base - 3 * kGiB, base),
                                     map_at(base, base + 0x1000, "[heap]"),
                                     map_at(base + 0x2000, base + 3 * kGiB)};
  EXPECT_EQ(find_gap_near(full, base - 0x1000, base, 4096), base + 0x1000);
}

TEST(FindGapNear, RefusesNonsense) {
  EXPECT_EQ(find_gap_near({}, 0x5000, 0x5000, 4096), 0U);
  EXPECT_EQ(find_gap_near({}, 0x6000, 0x5000, 4096), 0U);
  EXPECT_EQ(find_gap_near({}, 0x500000, 0x600000, 0), 0U);
  EXPECT_EQ(find_gap_near({}, 0x500000, 0x600000, UINT64_MAX), 0U);
  EXPECT_EQ(find_gap_near({}, UINT64_MAX - 4096, UINT64_MAX, 4096), 0U);
  EXPECT_NE(find_gap_near({}, 0x500000, 0x600000, 4096), 0U);
}

TEST(FindGapNear, TheKernelAcceptsThePlace) {
  const auto maps = read_maps(::getpid());
  ASSERT_TRUE(maps);
  const auto code = reinterpret_cast<uintptr_t>(&parse_maps);
  const uint64_t gap = find_gap_near(*maps, code, code + 64, 3 * 4096);
  ASSERT_NE(gap, 0U);
  void* at = ::mmap(reinterpret_cast<void*>(gap), 3 * 4096, PROT_READ,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(at, reinterpret_cast<void*>(gap));
  ::munmap(at, 3 * 4096);
}

TEST(WithinReach, EveryByteOfBothFromEveryByteOfTheOther) {
  constexpr uint64_t giga = 1ULL << 30U;
  EXPECT_TRUE(within_reach(10 * giga, 4096, 11 * giga, 11 * giga + 64));
  EXPECT_TRUE(within_reach(11 * giga, 4096, 10 * giga, 12 * giga - 8192));
  EXPECT_FALSE(within_reach(10 * giga, 4096, 11 * giga, 12 * giga));
  EXPECT_FALSE(within_reach(10 * giga, 4096, 13 * giga, 13 * giga + 64));
  EXPECT_FALSE(within_reach(13 * giga, 4096, 10 * giga, 10 * giga + 64));
  EXPECT_FALSE(within_reach(10 * giga, 3 * giga, 10 * giga, 10 * giga + 64));
  EXPECT_FALSE(within_reach(10 * giga, 4096, 11 * giga, 11 * giga));
  EXPECT_FALSE(within_reach(UINT64_MAX - 4095, 4096, giga, giga + 64));
}

}  // namespace
}  // namespace jitscope
