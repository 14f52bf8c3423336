#include "runtimes/hotspot/vm_release.h"

#include <gtest/gtest.h>

#include "fake_jvm.h"

namespace jitscope::hotspot::test {
namespace {

class VmReleaseTest : public testing::Test {
 protected:
  [[nodiscard]] std::string release() {
    const auto structs = VmStructs::read(jvm, jvm.symbols());
    EXPECT_TRUE(structs) << to_string(structs.error());
    const auto read = read_vm_release(jvm, *structs);
    return read ? *read : "error: " + to_string(read.error());
  }
  FakeJvm jvm{FakeJvm::Style::pointers};
};

TEST_F(VmReleaseTest, WhatTheJvmCallsItself) {
  EXPECT_EQ(release(), "17.0.99+1-fake");
}

TEST_F(VmReleaseTest, OfJdk8TheJdksOwnNumber) {
  jvm.use_jdk_version(8,
                      "OpenJDK 64-Bit Server VM (25.504-b01) for linux-amd64 JRE "
                      "(1.8.0_504-8u504-b08), built on Aug 20 2026 02:12:31 by someone");
  EXPECT_EQ(release(), "1.8.0_504-8u504-b08");
}

TEST_F(VmReleaseTest, ADescriptionWithoutItIsNoObstacle) {
  for (const char* text : {"JRE ()", "JRE (1.8", "", "Some VM"}) {
    jvm.use_jdk_version(8, text);
    EXPECT_EQ(release(), "8 (HotSpot 17.0.99+1-fake)") << text;
  }
  jvm.use_jdk_version(8, std::string(600, 'x'));
  EXPECT_EQ(release(), "8 (HotSpot 17.0.99+1-fake)");
}

TEST_F(VmReleaseTest, FromJdk9OnThereIsOneNumber) {
  jvm.use_jdk_version(11, "VM JRE (1.8.0)");
  EXPECT_EQ(release(), "17.0.99+1-fake");
}

TEST_F(VmReleaseTest, NoTextIsAnError) {
  const auto structs = VmStructs::read(jvm, jvm.symbols());
  const auto text = read_u64(jvm, *structs->static_address("Abstract_VM_Version", "_s_vm_release"));
  for (const char first : {'\0', '\n', '\x80'}) {
    jvm.put(*text, first);
    EXPECT_TRUE(release().starts_with("error: ")) << release();
  }
}

}  // namespace
}  // namespace jitscope::hotspot::test
