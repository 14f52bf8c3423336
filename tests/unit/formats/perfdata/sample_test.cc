// Every field of a sample, alone and together, in the order in which kernels write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "unit/formats/perfdata/collect.h"

namespace jitscope::perfdata::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kRegs = 0x1ff;  // nine registers
constexpr uint64_t kAllFields = (1U << 25U) - 1 - sample_bit::kWeightStruct;

EventSpec event_with(uint64_t sample_type) {
  return {.sample_type = sample_type,
          .branch_sample_type = branch_bit::kHardwareIndex | branch_bit::kCounters,
          .user_regs_mask = kRegs,
          .intr_regs_mask = 0x7};
}

SampleSpec everything() {
  return {.misc = 1,
          .pid = 10,
          .tid = 11,
          .time = 12,
          .cpu = 13,
          .ip = 14,
          .address = 15,
          .period = 16,
          .callchain = {kContextKernel, 0xffffffff81000000, kContextUser, 0x17, 0x18},
          .read = {19},
          .raw = "raw bytes",
          .branches = 3,
          .user_regs = {1, 2, 3, 4, 5, 6, 7, 8, 9},
          .user_stack = "0123456789abcdef",
          .user_stack_copied = 10,
          .intr_regs = {1, 2, 3},
          .aux = "auxiliary"};
}

void expect_everything(const Sample& s, uint64_t type) {
  const auto has = [&](uint64_t bit) { return (type & bit) != 0; };
  EXPECT_EQ(s.mode, CpuMode::kernel);
  EXPECT_EQ(s.head.pid, has(sample_bit::kTid) ? 10U : 0U);
  EXPECT_EQ(s.head.tid, has(sample_bit::kTid) ? 11U : 0U);
  EXPECT_EQ(s.head.time, has(sample_bit::kTime) ? 12U : 0U);
  EXPECT_EQ(s.head.has_time, has(sample_bit::kTime));
  EXPECT_EQ(s.head.cpu, has(sample_bit::kCpu) ? 13U : UINT32_MAX);
  EXPECT_EQ(s.head.id, has(sample_bit::kId | sample_bit::kIdentifier) ? 100U : 0U);
  EXPECT_EQ(s.ip, has(sample_bit::kIp) ? 14U : 0U);
  EXPECT_EQ(s.address, has(sample_bit::kAddress) ? 15U : 0U);
  EXPECT_EQ(s.period, has(sample_bit::kPeriod) ? 16U : 0U);
  if (has(sample_bit::kCallchain)) {
    EXPECT_THAT(s.callchain,
                ElementsAre(kContextKernel, 0xffffffff81000000, kContextUser, 0x17, 0x18));
  } else {
    EXPECT_THAT(s.callchain, IsEmpty());
  }
  EXPECT_EQ(text(s.raw), has(sample_bit::kRaw) ? std::string_view("raw bytes\0\0\0", 12) : "");
  if (has(sample_bit::kRegsUser)) {
    EXPECT_EQ(s.user_regs_abi, 2U);
    EXPECT_EQ(s.user_regs_mask, kRegs);
    EXPECT_THAT(s.user_regs, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  } else {
    EXPECT_EQ(s.user_regs_mask, 0U);
    EXPECT_THAT(s.user_regs, IsEmpty());
  }
  EXPECT_EQ(text(s.user_stack), has(sample_bit::kStackUser) ? "0123456789" : "");
}

TEST(PerfDataSample, EachFieldAloneAndWithout) {
  for (unsigned bit = 0; bit < 25; ++bit) {
    for (const uint64_t type : {uint64_t{1} << bit, kAllFields & ~(uint64_t{1} << bit)}) {
      PerfDataBuilder b({event_with(type)});
      b.sample(everything());
      const auto got = collect(b.file());
      ASSERT_EQ(got->samples.size(), 1U) << bit;
      SCOPED_TRACE(testing::Message() << std::hex << type);
      expect_everything(got->samples[0], type);
      EXPECT_TRUE(got->reader->diagnostics().empty());
    }
  }
}

TEST(PerfDataSample, EachPairOfFields) {
  for (unsigned a = 0; a < 25; ++a) {
    for (unsigned c = a + 1; c < 25; ++c) {
      const uint64_t type = (uint64_t{1} << a) | (uint64_t{1} << c);
      PerfDataBuilder b({event_with(type)});
      b.sample(everything());
      const auto got = collect(b.file());
      ASSERT_EQ(got->samples.size(), 1U);
      SCOPED_TRACE(testing::Message() << std::hex << type);
      expect_everything(got->samples[0], type);
      EXPECT_TRUE(got->reader->diagnostics().empty());
    }
  }
}

TEST(PerfDataSample, EveryReadFormat) {
  for (uint64_t format = 0; format < 32; ++format) {
    const auto one = [&](uint64_t bit) { return (format & bit) != 0 ? size_t{1} : size_t{0}; };
    const size_t times = one(read_bit::kEnabled) + one(read_bit::kRunning);
    const size_t each = 1 + one(read_bit::kId) + one(read_bit::kLost);
    std::vector<uint64_t> words;
    if (one(read_bit::kGroup) != 0) {
      words.assign(1 + times + 3 * each, 77);
      words[0] = 3;
    } else {
      words.assign(times + each, 77);
    }
    PerfDataBuilder b({{.sample_type = sample_bit::kIp | sample_bit::kRead | sample_bit::kCallchain,
                        .read_format = format}});
    b.sample({.ip = 1, .callchain = {5, 6}, .read = words});
    const auto got = collect(b.file());
    ASSERT_EQ(got->samples.size(), 1U);
    EXPECT_THAT(got->samples[0].callchain, ElementsAre(5, 6)) << format;
    EXPECT_TRUE(got->reader->diagnostics().empty()) << format;
  }
}

TEST(PerfDataSample, BranchStackForms) {
  for (const uint64_t form : {uint64_t{0}, branch_bit::kHardwareIndex, branch_bit::kCounters,
                              branch_bit::kHardwareIndex | branch_bit::kCounters}) {
    EventSpec event{.sample_type = sample_bit::kBranchStack | sample_bit::kRegsUser,
                    .branch_sample_type = form,
                    .user_regs_mask = 3};
    PerfDataBuilder b({event});
    b.sample({.branches = 4, .user_regs = {8, 9}}).sample({.branches = 0, .user_regs = {8, 9}});
    const auto got = collect(b.file());
    ASSERT_EQ(got->samples.size(), 2U);
    EXPECT_THAT(got->samples[0].user_regs, ElementsAre(8, 9));
    EXPECT_THAT(got->samples[1].user_regs, ElementsAre(8, 9));
  }
}

TEST(PerfDataSample, KernelThreadHasNoRegistersAndNoStack) {
  PerfDataBuilder b({{.sample_type = sample_bit::kRegsUser | sample_bit::kStackUser |
                                     sample_bit::kWeightStruct | sample_bit::kAux,
                      .user_regs_mask = 0xff}});
  b.sample({.user_regs_abi = 0, .aux = "x"});
  const auto got = collect(b.file());
  ASSERT_EQ(got->samples.size(), 1U);
  EXPECT_EQ(got->samples[0].user_regs_abi, 0U);
  EXPECT_THAT(got->samples[0].user_regs, IsEmpty());
  EXPECT_THAT(got->samples[0].user_stack, IsEmpty());
  EXPECT_TRUE(got->reader->diagnostics().empty());
}

TEST(PerfDataSample, CpuModes) {
  PerfDataBuilder b;
  for (const unsigned misc : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 0x4002U}) {
    b.sample({.misc = static_cast<uint16_t>(misc), .time = 1});
  }
  const auto got = collect(b.file());
  std::vector<CpuMode> modes;
  for (const Sample& s : got->samples) modes.push_back(s.mode);
  using enum CpuMode;
  EXPECT_THAT(modes, ElementsAre(unknown, kernel, user, hypervisor, guest_kernel, guest_user,
                                 unknown, unknown, user));
}

// Counts and sizes that the record cannot hold: what precedes them counts, nothing behind them.
TEST(PerfDataSample, HostileCounts) {
  namespace bit = sample_bit;
  const uint64_t huge[] = {3, 1000, UINT64_MAX / 8, UINT64_MAX / 8 + 2, UINT64_MAX};
  for (const uint64_t count : huge) {
    for (const uint64_t field :
         {bit::kCallchain, bit::kBranchStack, bit::kRead, bit::kStackUser, bit::kAux, bit::kRaw}) {
      PerfDataBuilder b(
          {{.sample_type = bit::kIp | bit::kTime | field, .read_format = read_bit::kGroup}});
      b.record(RecordType::sample, 2, Bytes().u64(0x10).u64(5).u64(count).u64(1));
      b.sample({.time = 6, .ip = 0x20, .read = {0}});
      const auto got = collect(b.file());
      ASSERT_EQ(got->samples.size(), 2U);
      EXPECT_EQ(got->samples[0].ip, 0x10U);
      EXPECT_THAT(got->samples[0].callchain, IsEmpty());
      EXPECT_THAT(got->samples[0].user_stack, IsEmpty());
      EXPECT_EQ(got->samples[1].ip, 0x20U);
      // Sizes in bytes that the eight (of RAW: twelve) bytes behind them do hold.
      const bool fits = (field == bit::kAux && count == 3) ||
                        (field == bit::kRaw && static_cast<uint32_t>(count) <= 12);
      EXPECT_EQ(got->reader->diagnostics().count("sample that does not fit its size"),
                fits ? 0U : 1U)
          << field << " " << count;
    }
  }
}

TEST(PerfDataSample, TooShortForItsFixedFields) {
  PerfDataBuilder b;
  b.record(RecordType::sample, 2, Bytes());
  b.record(RecordType::sample, 2, Bytes().u64(100).u64(1).u64(2));
  b.sample({.time = 1});
  const auto got = collect(b.file());
  EXPECT_EQ(got->samples.size(), 1U);
  EXPECT_EQ(got->reader->diagnostics().count("sample that does not fit its size"), 2U);
}

// A record of a size that is no multiple of eight puts the next ones at odd addresses.
TEST(PerfDataSample, UnalignedWordsAreCopied) {
  PerfDataBuilder b({event_with(kAllFields)});
  b.record(static_cast<RecordType>(70), 0, Bytes().chars("odd"));
  b.sample(everything());
  const auto got = collect(b.file());
  ASSERT_EQ(got->samples.size(), 1U);
  expect_everything(got->samples[0], kAllFields);
}

}  // namespace
}  // namespace jitscope::perfdata::test
