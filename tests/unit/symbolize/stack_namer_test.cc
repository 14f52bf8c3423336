// StackNamer over stacks made by hand: this process's own memory holds the call instructions, the
// stack is bytes at an address that need not exist.
#include "symbolize/stack_namer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace jitscope {
namespace {

using testing::HasSubstr;

constexpr uint64_t sp = 0x7000'0000'0000;

// A stack by its words from sp on.
class FakeStack {
 public:
  explicit FakeStack(size_t words) : words_(words) {}
  // The address of a word.
  static uint64_t at(size_t word) { return sp + word * 8; }
  uint64_t& operator[](size_t word) { return words_.at(word); }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(words_));
  }

 private:
  std::vector<uint64_t> words_;
};

class StackNamerTest : public testing::Test {
 protected:
  void SetUp() override {
    void* at = ::mmap(nullptr, 2 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(at, MAP_FAILED);
    code_ = static_cast<unsigned char*>(at);
    std::memset(code_, 0x90, 2 * 4096);
    auto process = Process::open(::getpid());
    ASSERT_TRUE(process) << to_string(process.error());
    process_.emplace(std::move(*process));
    namer_.emplace(*process_);
  }
  void TearDown() override { ::munmap(code_, 2 * 4096); }

  uint64_t address(size_t offset) const { return reinterpret_cast<uint64_t>(code_) + offset; }
  // A body at an offset of the code, 0x40 bytes.
  void body(size_t offset, const char* name, uint32_t frame_bytes, Tier tier = Tier::c2) {
    CodeBody body;
    body.address = address(offset);
    body.size = 0x40;
    MethodName method;
    method.function = name;
    method.raw = name;
    body.name = std::make_shared<const MethodName>(method);
    body.tier = tier;
    body.frame_bytes = frame_bytes;
    body.source = SourceKind::hotspot_memory;
    snapshot_.bodies.push_back(body);
  }
  // Puts a call there and gives its return address.
  uint64_t call_at(size_t offset, std::initializer_list<unsigned char> call = {0xe8, 0, 0, 0, 0}) {
    std::copy(call.begin(), call.end(), code_ + offset);
    return address(offset + call.size());
  }
  Stack walk(const FakeStack& stack, uint64_t fp = 0, size_t most = 127) {
    namer_->update(snapshot_);
    return namer_->walk(sp, fp, stack.bytes(), most);
  }
  static std::vector<std::string> names(const Stack& stack) {
    std::vector<std::string> result;
    for (const StackFrame& frame : stack.frames) result.push_back(frame.name);
    return result;
  }

  unsigned char* code_ = nullptr;
  Snapshot snapshot_;
  std::optional<Process> process_;
  std::optional<StackNamer> namer_;
};

TEST_F(StackNamerTest, FramesOfKnownSizeNeedNoFramePointer) {
  body(0x000, "inner", 32);
  body(0x100, "outer", 48);
  FakeStack stack(32);
  stack[0] = call_at(0x10);   // into inner
  stack[4] = call_at(0x110);  // 8 below inner's caller's sp: word 1 + 4 - 1
  stack[3] = 0x1234;          // a saved rbp that leads nowhere
  stack[5 + 6 - 1] = 0;       // outer's return address: the end
  const Stack result = walk(stack);
  EXPECT_THAT(names(result), testing::ElementsAre("inner", "outer"));
  EXPECT_EQ(result.end, "complete");
  EXPECT_EQ(result.frames[0].address, address(0x15));
  EXPECT_EQ(result.frames[0].module, "hotspot c2");
}

TEST_F(StackNamerTest, TheSavedFramePointerIsTakenFromAFrameOfKnownSize) {
  body(0x000, "sized", 32);
  body(0x100, "chained", 0, Tier::turbofan);
  FakeStack stack(32);
  stack[0] = call_at(0x10);
  stack[3] = FakeStack::at(10);
  stack[4] = call_at(0x110);
  stack[10] = 0;
  stack[11] = call_at(0x120);  // into chained again
  const Stack result = walk(stack);
  EXPECT_THAT(names(result), testing::ElementsAre("sized", "chained", "chained"));
  EXPECT_EQ(result.end, "complete");
}

TEST_F(StackNamerTest, TheInterpreterTellsItsCallersStackPointer) {
  body(0x000, "Interpreter", 0, Tier::stub);
  body(0x100, "compiled", 32);
  FakeStack stack(64);
  stack[0] = call_at(0x10);
  // The interpreter's frame: [fp-8] the sender's sp, [fp] saved rbp, [fp+8] return address.
  stack[9] = FakeStack::at(20);
  stack[10] = 0;
  stack[11] = call_at(0x110);
  stack[20 + 3] = 0;  // compiled's return address, counted from the sender's sp
  const Stack result = walk(stack, FakeStack::at(10));
  EXPECT_THAT(names(result), testing::ElementsAre("Interpreter", "compiled"));
  EXPECT_EQ(result.end, "complete");
}

TEST_F(StackNamerTest, AReturnEntryOfTheInterpreterStandsBehindNoCall) {
  body(0x000, "Interpreter", 0, Tier::stub);
  FakeStack stack(16);
  stack[0] = address(0x20);  // jumped to by the dispatch table
  stack[3] = FakeStack::at(6);
  stack[4] = 0;
  const Stack result = walk(stack, FakeStack::at(3));
  EXPECT_THAT(names(result), testing::ElementsAre("Interpreter"));
  EXPECT_EQ(result.end, "complete");
}

TEST_F(StackNamerTest, AChainOfFramePointersThroughCodeWithoutSizes) {
  body(0x000, "a", 0, Tier::turbofan);
  body(0x040, "b", 0, Tier::turbofan);
  FakeStack stack(32);
  stack[0] = call_at(0x10);
  stack[4] = FakeStack::at(8);
  stack[5] = call_at(0x50);
  stack[8] = 0;
  stack[9] = call_at(0x20);
  const Stack result = walk(stack, FakeStack::at(4));
  EXPECT_THAT(names(result), testing::ElementsAre("a", "b", "a"));
  EXPECT_EQ(result.end, "complete");
}

TEST_F(StackNamerTest, AReturnAddressBehindTheBodyBelongsToIt) {
  body(0x000, "throws", 0, Tier::turbofan);
  FakeStack stack(4);
  stack[0] = call_at(0x3b);  // the call is its last instruction
  EXPECT_EQ(stack[0], address(0x40));
  const Stack result = walk(stack);
  EXPECT_THAT(names(result), testing::ElementsAre("throws"));
}

TEST_F(StackNamerTest, OnlyWhatStandsBehindACallIsAReturnAddress) {
  body(0x000, "x", 0, Tier::turbofan);
  const auto frames = [&](uint64_t pc) {
    FakeStack stack(4);
    stack[0] = pc;
    return walk(stack).frames.size();
  };
  EXPECT_EQ(frames(call_at(0x08)), 1U);                                  // call rel32
  EXPECT_EQ(frames(call_at(0x10, {0xff, 0xd0})), 1U);                    // call *%rax
  EXPECT_EQ(frames(call_at(0x18, {0x41, 0xff, 0xd2})), 1U);              // call *%r10
  EXPECT_EQ(frames(call_at(0x20, {0xff, 0x50, 0x08})), 1U);              // call *8(%rax)
  EXPECT_EQ(frames(call_at(0x28, {0xff, 0x14, 0x25, 1, 2, 3, 4})), 1U);  // call *abs32
  EXPECT_EQ(frames(call_at(0x30, {0xff, 0x94, 0x24, 0, 1, 0, 0})), 1U);  // call *256(%rsp)
  EXPECT_EQ(frames(address(0x800)), 0U);                                 // nops before it
  EXPECT_EQ(frames(call_at(0x40, {0xff, 0xe0})), 0U);                    // jmp *%rax
  EXPECT_EQ(frames(reinterpret_cast<uint64_t>(&sp)), 0U);                // data
  EXPECT_EQ(frames(0x10), 0U);
  EXPECT_EQ(frames(8), 0U);
  EXPECT_EQ(frames(UINT64_MAX), 0U);
  EXPECT_EQ(frames(uint64_t{1} << 63U), 0U);
}

TEST_F(StackNamerTest, CyclesEnd) {
  body(0x000, "a", 0, Tier::turbofan);
  const uint64_t pc = call_at(0x10);
  FakeStack itself(16);
  itself[0] = itself[5] = pc;
  itself[4] = FakeStack::at(4);  // a frame that is its own caller
  const Stack first = walk(itself, FakeStack::at(4));
  EXPECT_EQ(first.frames.size(), 2U);
  EXPECT_EQ(first.end, "no frame pointer to follow");

  FakeStack two(16);
  two[0] = two[5] = two[9] = pc;
  two[4] = FakeStack::at(8);
  two[8] = FakeStack::at(4);
  EXPECT_EQ(walk(two, FakeStack::at(4)).frames.size(), 3U);
}

TEST_F(StackNamerTest, AnInterpreterFrameCannotLeadBackOrAroundTheEnd) {
  body(0x000, "Interpreter", 0, Tier::stub);
  body(0x100, "sized", 16);
  for (const uint64_t sender :
       {uint64_t{0}, sp, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 15, sp - 16}) {
    FakeStack stack(16);
    stack[0] = call_at(0x10);
    stack[3] = sender;
    stack[4] = FakeStack::at(4);
    stack[5] = call_at(0x110);
    for (size_t i = 6; i < 16; ++i) stack[i] = stack[5];
    const Stack result = walk(stack, FakeStack::at(4));
    EXPECT_GE(result.frames.size(), 2U);
    EXPECT_LE(result.frames.size(), 16U) << std::hex << sender;
  }
}

TEST_F(StackNamerTest, WildFramePointersEndTheWalkWithAReason) {
  body(0x000, "a", 0, Tier::turbofan);
  FakeStack stack(8);
  stack[0] = call_at(0x10);
  const auto end = [&](uint64_t fp) {
    const Stack result = walk(stack, fp);
    EXPECT_EQ(result.frames.size(), 1U);
    return result.end;
  };
  EXPECT_EQ(end(0), "complete");
  EXPECT_EQ(end(1), "no frame pointer to follow");
  EXPECT_EQ(end(sp), "no frame pointer to follow");      // below the caller's sp
  EXPECT_EQ(end(sp + 9), "no frame pointer to follow");  // not aligned
  EXPECT_EQ(end(FakeStack::at(8)), "the copied part of the stack ends");
  EXPECT_EQ(end(FakeStack::at(7)), "the copied part of the stack ends");
  EXPECT_EQ(end(UINT64_MAX & ~7ULL), "the copied part of the stack ends");
}

TEST_F(StackNamerTest, AnEmptyOrShortCopyIsNoStack) {
  namer_->update(snapshot_);
  for (const size_t length : {size_t{0}, size_t{1}, size_t{7}}) {
    const std::vector<std::byte> bytes(length);
    const Stack result = namer_->walk(sp, sp, bytes);
    EXPECT_TRUE(result.frames.empty());
    EXPECT_EQ(result.end, "the copied part of the stack ends");
  }
}

TEST_F(StackNamerTest, StopsAtTheNumberAskedFor) {
  body(0x000, "a", 16);
  FakeStack stack(64);
  for (size_t i = 0; i < 64; ++i) stack[i] = call_at(0x10);
  const Stack result = walk(stack, 0, 5);
  EXPECT_EQ(result.frames.size(), 5U);
  EXPECT_EQ(result.end, "deeper than shown");
}

TEST_F(StackNamerTest, FramesWithoutANameSayWhy) {
  FakeStack stack(4);
  stack[0] = call_at(0x10);
  const Stack anonymous = walk(stack);
  ASSERT_EQ(anonymous.frames.size(), 1U);
  EXPECT_EQ(anonymous.frames[0].name, "");
  EXPECT_EQ(anonymous.frames[0].module, "[anon]");
  EXPECT_THAT(anonymous.frames[0].reason, HasSubstr("no code source"));
  EXPECT_TRUE(anonymous.frames[0].in_jit_memory);
}

// Finds a call in a function of this program, so that there is a return address to name.
extern "C" __attribute__((noinline)) uint64_t jitscope_test_return_address() {
  return reinterpret_cast<uint64_t>(__builtin_return_address(0));
}
extern "C" __attribute__((noinline)) uint64_t jitscope_test_elf_caller() {
  const uint64_t address = jitscope_test_return_address();
  asm volatile("" ::: "memory");  // no tail call
  return address;
}

TEST_F(StackNamerTest, ElfCodeIsNamedByItsFile) {
  FakeStack stack(4);
  stack[0] = jitscope_test_elf_caller();
  const Stack result = walk(stack);
  ASSERT_EQ(result.frames.size(), 1U);
  EXPECT_EQ(result.frames[0].name, "jitscope_test_elf_caller");
  EXPECT_THAT(result.frames[0].module, HasSubstr("unit_symbolize"));
}

TEST_F(StackNamerTest, CodeThatChangedIsLookedAtAgainAfterAnUpdate) {
  body(0x000, "a", 0, Tier::turbofan);
  FakeStack stack(4);
  stack[0] = call_at(0x10);
  EXPECT_EQ(walk(stack).frames.size(), 1U);
  std::memset(code_, 0x90, 0x40);
  EXPECT_EQ(walk(stack).frames.size(), 0U);
}

}  // namespace
}  // namespace jitscope
