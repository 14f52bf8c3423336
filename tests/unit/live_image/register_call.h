// A call that sets and reads all integer registers and the flags: what an entry does through a slot
// must equal what it does without. x86-64; include it in one file only (it defines the function).
#pragma once

#include <array>
#include <cstdint>

namespace jitscope::test {

// rax rcx rdx rbx (rsp: not set; read relative to what it was) rbp rsi rdi r8-r15, flags, function.
struct Registers {
  std::array<uint64_t, 16> general{};
  uint64_t flags = 0x202;
  uint64_t function = 0;
  bool operator==(const Registers&) const = default;
};
static_assert(sizeof(Registers) == 144);

// Calls registers->function with these registers, and writes what they are afterwards. The status
// flags only (CF PF ZF SF OF; AF is undefined after many instructions).
extern "C" void jitscope_test_call(Registers* registers);

// The pointer to `registers` waits on the stack, beneath what a function keeps for its caller.
asm(R"(
  .pushsection .text
  .globl jitscope_test_call
  .hidden jitscope_test_call
  .type jitscope_test_call, @function
jitscope_test_call:
  push %rbx
  push %rbp
  push %r12
  push %r13
  push %r14
  push %r15
  push %rdi
  mov 136(%rdi), %rax
  push %rax
  push 128(%rdi)
  popfq
  mov 0(%rdi), %rax
  mov 8(%rdi), %rcx
  mov 16(%rdi), %rdx
  mov 24(%rdi), %rbx
  mov 40(%rdi), %rbp
  mov 48(%rdi), %rsi
  mov 64(%rdi), %r8
  mov 72(%rdi), %r9
  mov 80(%rdi), %r10
  mov 88(%rdi), %r11
  mov 96(%rdi), %r12
  mov 104(%rdi), %r13
  mov 112(%rdi), %r14
  mov 120(%rdi), %r15
  mov 56(%rdi), %rdi
  call *(%rsp)
  pushfq
  push %rax
  mov 24(%rsp), %rax
  mov %rcx, 8(%rax)
  mov %rdx, 16(%rax)
  mov %rbx, 24(%rax)
  mov %rbp, 40(%rax)
  mov %rsi, 48(%rax)
  mov %rdi, 56(%rax)
  mov %r8, 64(%rax)
  mov %r9, 72(%rax)
  mov %r10, 80(%rax)
  mov %r11, 88(%rax)
  mov %r12, 96(%rax)
  mov %r13, 104(%rax)
  mov %r14, 112(%rax)
  mov %r15, 120(%rax)
  pop 0(%rax)
  pop %rcx
  and $0x8c5, %rcx
  mov %rcx, 128(%rax)
  add $16, %rsp
  cld
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret
  .size jitscope_test_call, . - jitscope_test_call
  .popsection
)");

}  // namespace jitscope::test
