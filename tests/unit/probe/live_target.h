// A target with little functions in a JIT-like page, and bodies that describe them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ebpf/bpf_session.h"
#include "process/process.h"
#include "surgery/surgery.h"
#include "tests/unit/probe/fake_source.h"
#include "tests/unit/process/call_target.h"
#include "tests/unit/process/target_program.h"

namespace jitscope::test {

class LiveTargetTest : public testing::Test {
 protected:
  static constexpr size_t stride = 64;

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to stop and change processes";
    make(16);
  }
  // `count` functions that add; the first `framed` of them begin with push and mov.
  void make(size_t count, size_t framed = 0) {
    process_.reset();
    target_.reset();
    target_ = std::make_unique<CallTarget>((count * stride + 4095) / 4096);
    for (size_t i = 0; i < count; ++i) {
      if (i < framed) {
        target_->put(i * stride, CallTarget::frame_and_add);
      } else {
        target_->put(i * stride, CallTarget::bang_and_add);
      }
    }
    target_->start();
    auto process = Process::open(target_->pid());
    ASSERT_TRUE(process) << to_string(process.error());
    process_.emplace(std::move(*process));
  }

  [[nodiscard]] uint64_t entry(size_t function) const {
    return target_->address(function * stride);
  }
  [[nodiscard]] CodeBody body(size_t function, const std::string& method,
                              uint64_t version = 1) const {
    return code_body(entry(function), method_name("T", method), version, stride);
  }
  Bytes bytes_at(uint64_t address, size_t length) const {
    Bytes bytes(length);
    EXPECT_TRUE(process_->memory().read(address, bytes));
    return bytes;
  }
  [[nodiscard]] bool is_jump(size_t function) const {
    return bytes_at(entry(function), 1).front() == std::byte{0xe9};
  }
  // The whole code is as it was when the target began.
  [[nodiscard]] bool untouched() const {
    return std::ranges::equal(bytes_at(target_->address(), target_->size()),
                              target_->original(0, target_->size()));
  }
  std::unique_ptr<BpfSession> session(bool events = false) const {
    BpfSessionOptions options;
    options.events = events;
    auto opened = BpfSession::open(*process_, options);
    EXPECT_TRUE(opened) << to_string(opened.error());
    return opened ? std::move(*opened) : nullptr;
  }
  // What the runtime does when it puts another body there.
  void write(size_t function, std::span<const unsigned char> bytes) const {
    ASSERT_TRUE(write_memory(*process_, entry(function), std::as_bytes(bytes)));
  }

  std::unique_ptr<CallTarget> target_;
  std::optional<Process> process_;
};

}  // namespace jitscope::test
