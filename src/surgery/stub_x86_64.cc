// x86-64: assembles the stub. Encodings: Intel SDM volume 2, MOV, SYSCALL, JMP.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>

#include "surgery/stub.h"

namespace jitscope {
namespace {

enum Register : uint8_t {
  rax,
  rcx,
  rdx,
  rbx,
  rsp,
  rbp,
  rsi,
  rdi,
  r8,
  r9,
  r10,
  r11,
  r12,
  r13,
  r14,
  r15
};

constexpr std::array<Register, 6> kArguments = {rdi, rsi, rdx, r10, r8, r9};
// Where results wait that a later call needs; a system call leaves these alone.
constexpr std::array<Register, 5> kKeepers = {rbx, r12, r13, r14, r15};
// What a system call with its arguments changes.
constexpr std::array<Register, 9> kChanged = {rcx, rdx, rsi, rdi, r8, r9, r10, r11, rax};
constexpr size_t kLongestText = 1024;

class Assembler {
 public:
  void byte(uint8_t value) { bytes_.push_back(std::byte{value}); }
  void number(uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) byte(static_cast<uint8_t>(value >> (8 * i)));
  }
  void text(std::string_view value) {
    for (const char c : value) byte(static_cast<uint8_t>(c));
  }
  // mov $value, reg. `wide` keeps the length independent of the value.
  void move_constant(Register reg, uint64_t value, bool wide) {
    const auto high = static_cast<uint8_t>(reg >= r8 ? 1 : 0);
    if (!wide && value <= UINT32_MAX) {
      if (high != 0) byte(0x41);
      byte(static_cast<uint8_t>(0xb8 + (reg & 7U)));
      number(value, 4);
      return;
    }
    byte(static_cast<uint8_t>(0x48 + high));
    byte(static_cast<uint8_t>(0xb8 + (reg & 7U)));
    number(value, 8);
  }
  void move(Register to, Register from) {
    byte(static_cast<uint8_t>(0x48 + (from >= r8 ? 4 : 0) + (to >= r8 ? 1 : 0)));
    byte(0x89);
    byte(static_cast<uint8_t>(0xc0 + ((from & 7U) << 3U) + (to & 7U)));
  }
  void system_call() {
    byte(0x0f);
    byte(0x05);
  }
  void jump(uint64_t address) {
    byte(0xff);  // jmp *0(%rip)
    byte(0x25);
    number(0, 4);
    number(address, 8);
  }
  void put(size_t at, uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) {
      bytes_[at + i] = std::byte{static_cast<uint8_t>(value >> (8 * i))};
    }
  }
  void fill_to(size_t size) { bytes_.resize(size); }
  [[nodiscard]] size_t size() const { return bytes_.size(); }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

uint64_t value_of(const Registers& registers, Register reg) {
  switch (reg) {
    case rax:
      return registers.rax;
    case rcx:
      return registers.rcx;
    case rdx:
      return registers.rdx;
    case rbx:
      return registers.rbx;
    case rsp:
      return registers.rsp;
    case rbp:
      return registers.rbp;
    case rsi:
      return registers.rsi;
    case rdi:
      return registers.rdi;
    case r8:
      return registers.r8;
    case r9:
      return registers.r9;
    case r10:
      return registers.r10;
    case r11:
      return registers.r11;
    case r12:
      return registers.r12;
    case r13:
      return registers.r13;
    case r14:
      return registers.r14;
    case r15:
      return registers.r15;
  }
  return 0;
}

// keepers[i]: the register that holds the result of call i, where a later call wants it.
Result<std::vector<std::optional<Register>>> plan_keepers(std::span<const RemoteCall> calls) {
  std::vector<std::optional<Register>> keepers(calls.size());
  size_t used = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].arguments.size() > kArguments.size()) {
      return fail(ErrorKind::usage, fmt::format("remote call {} has more than 6 arguments", i));
    }
    for (const RemoteArgument& argument : calls[i].arguments) {
      if (argument.kind == RemoteArgument::Kind::text) {
        if (argument.text.size() > kLongestText || argument.text.find('\0') != std::string::npos) {
          return fail(
              ErrorKind::usage,
              fmt::format("a text argument of remote call {} is too long or holds a NUL", i));
        }
      }
      if (argument.kind != RemoteArgument::Kind::from_result) continue;
      if (argument.number >= i) {
        return fail(ErrorKind::usage,
                    fmt::format("remote call {} wants the result of a later call", i));
      }
      auto& keeper = keepers[argument.number];
      if (keeper) continue;
      if (used == kKeepers.size()) {
        return fail(ErrorKind::usage, "too many results of remote calls are used again");
      }
      keeper = kKeepers[used++];
    }
  }
  return keepers;
}

}  // namespace

Result<Bytes> assemble_stub(std::span<const RemoteCall> calls, uint64_t address,
                            const Registers& back) {
  JITSCOPE_ASSIGN(const auto keepers, plan_keepers(calls));
  Assembler code;
  code.text(kStubMagic);
  code.fill_to(kStubEntry);
  struct TextUse {
    size_t at;  // of the 8-byte constant
    const std::string* text;
  };
  std::vector<TextUse> texts;
  for (size_t i = 0; i < calls.size(); ++i) {
    const RemoteCall& call = calls[i];
    for (size_t a = 0; a < call.arguments.size(); ++a) {
      const RemoteArgument& argument = call.arguments[a];
      switch (argument.kind) {
        case RemoteArgument::Kind::number:
          code.move_constant(kArguments[a], argument.number, false);
          break;
        case RemoteArgument::Kind::text:
          code.move_constant(kArguments[a], 0, true);
          texts.push_back({code.size() - 8, &argument.text});
          break;
        case RemoteArgument::Kind::from_result:
          code.move(kArguments[a], *keepers[argument.number]);
          break;
      }
    }
    code.move_constant(rax, static_cast<uint64_t>(call.number), false);
    code.system_call();
    if (keepers[i]) code.move(*keepers[i], rax);
  }
  for (const auto& keeper : keepers) {
    if (keeper) code.move_constant(*keeper, value_of(back, *keeper), true);
  }
  for (const Register reg : kChanged) code.move_constant(reg, value_of(back, reg), true);
  code.jump(instruction_pointer(back));
  for (const TextUse& use : texts) {
    code.put(use.at, address + code.size(), 8);
    code.text(*use.text);
    code.byte(0);
  }
  code.put(kStubSizeAt, code.size(), 4);
  return code.take();
}

Result<uint64_t> stub_size(std::span<const RemoteCall> calls) {
  JITSCOPE_ASSIGN(const Bytes bytes, assemble_stub(calls, 0, Registers{}));
  return bytes.size();
}

}  // namespace jitscope
