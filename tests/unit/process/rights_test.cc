// Which capabilities the kernel's probes need.
#include "process/rights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>

namespace jitscope {
namespace {

using testing::HasSubstr;

constexpr uint64_t bit(unsigned capability) {
  return uint64_t{1} << capability;
}

TEST(Rights, Probes) {
  EXPECT_EQ(why_no_probes(bit(CAP_SYS_ADMIN), true), "");
  EXPECT_EQ(why_no_probes(bit(CAP_BPF) | bit(CAP_PERFMON), true), "");
  EXPECT_EQ(why_no_probes(~uint64_t{0}, true), "");
  for (const uint64_t few : {uint64_t{0}, bit(CAP_BPF), bit(CAP_PERFMON), bit(CAP_SYS_PTRACE)}) {
    EXPECT_THAT(why_no_probes(few, true), HasSubstr("CAP_BPF and CAP_PERFMON"));
  }
  // Root of a container's user namespace.
  EXPECT_THAT(why_no_probes(~uint64_t{0}, false), HasSubstr("namespace"));
}

}  // namespace
}  // namespace jitscope
