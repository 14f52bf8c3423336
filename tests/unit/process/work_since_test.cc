// Whether a process has done enough to be looked at.
#include "process/work_since.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

namespace jitscope {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(WorkSince, AProcessThatDidNothingIsNotWorthALook) {
  WorkSince work;
  work.looked(1000 * kMs);
  EXPECT_FALSE(work.worth(1000 * kMs, 0));
  EXPECT_FALSE(work.worth(1001 * kMs, 0));
  EXPECT_TRUE(work.worth(1002 * kMs, 0));
  EXPECT_EQ(work.used(1002 * kMs), 2 * kMs);
}

TEST(WorkSince, ADearLookWantsMoreWork) {
  WorkSince work;
  work.looked(1000 * kMs);
  EXPECT_FALSE(work.worth(1023 * kMs, 3 * kMs));
  EXPECT_TRUE(work.worth(1024 * kMs, 3 * kMs));
  EXPECT_FALSE(work.worth(1039 * kMs, UINT64_MAX));
  EXPECT_TRUE(work.worth(1040 * kMs, UINT64_MAX)) << "but not without a limit";
}

TEST(WorkSince, WhatCannotBeToldIsWorthALook) {
  WorkSince work;
  EXPECT_TRUE(work.worth(5 * kMs, 0)) << "never looked at";
  work.looked(10 * kMs);
  EXPECT_TRUE(work.worth(std::nullopt, 0));
  EXPECT_TRUE(work.worth(5 * kMs, 0)) << "another process under the pid";
  work.looked(std::nullopt);
  EXPECT_TRUE(work.worth(10 * kMs, 0));
}

TEST(WorkSince, TheClockOfAProcessRunsWhileItWorks) {
  const auto before = cpu_time_of(::getpid());
  ASSERT_TRUE(before);
  const uint64_t end = process_cpu_ns() + 20 * kMs;
  while (process_cpu_ns() < end) {
  }
  const auto after = cpu_time_of(::getpid());
  ASSERT_TRUE(after);
  EXPECT_GE(*after - *before, 10 * kMs);
}

TEST(WorkSince, NobodysClockIsNothing) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(cpu_time_of(child), std::nullopt);
  EXPECT_EQ(cpu_time_of(0), std::nullopt);
  EXPECT_EQ(cpu_time_of(-1), std::nullopt);
}

}  // namespace
}  // namespace jitscope
