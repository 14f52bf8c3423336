// See stub_patterns.h. One table of what has one form; functions for what has several.
#include "runtimes/dotnet/stub_patterns.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/byte_cursor.h"
#include "runtimes/dotnet/byte_pattern.h"
#include "runtimes/dotnet/write_barrier.h"

namespace jitscope {
namespace {

using Bytes = std::span<const std::byte>;

constexpr size_t kNone = 0;

// A stub of one form.
struct Form {
  std::string_view name;
  std::string_view code;
  // Where displacements from rip stand, of words that lie one behind the other in the data page.
  std::array<size_t, 3> words = {kNone, kNone, kNone};
  size_t jump = kNone;      // where the displacement of a jump to code stands,
  size_t absolute = kNone;  // or the address that a register jumps to
  size_t size = 0;          // of the place that it has in a page of such; 0: padded with int3
};

constexpr std::string_view kHelper = "[DynamicHelper]";

constexpr std::array kForms = {
    // jmp [target]; mov r10, [method]; jmp [fixup]
    Form{.name = "[FixupPrecode]",
         .code = "ff25???????? 4c8b15???????? ff25????????",
         .words = {2, 9, 15},
         .size = 24},
    // mov r10, [method]; jmp [target]
    Form{.name = "[StubPrecode]",
         .code = "4c8b15???????? ff25????????",
         .words = {3, 9},
         .size = 24},
    // mov rax, [count]; dec word [rax]; je; jmp [method]; jmp [enough]
    Form{.name = "[CallCountingStub]",
         .code = "488b05???????? 66ff08 7406 ff25???????? ff25????????",
         .words = {3, 14, 20},
         .size = 24},
    // What interface calls go through.
    Form{.name = "[LookupStub]",
         .code = "90 48b8???????????????? 50 48b8???????????????? ffe0",
         .absolute = 14,
         .size = 24},
    Form{.name = "[DispatchStub]",
         .code = "48b8???????????????? 483907 90 48b8???????????????? 0f85???????? ffe0",
         .jump = 26,
         .size = 32},
    Form{.name = "[ResolveStub]",
         .code = "488b07 52 49ba???????????????? 488bd0 48c1e80c 4803c2 4835???????? 4825???????? "
                 "4a8b0410 49ba???????????????? 483b5000 75?? 4c3b5008 75?? 488b4010 5a ffe0 "
                 "48b8???????????????? 8300ff 7d?? 4983cb01 52 49ba???????????????? 50 "
                 "48b8???????????????? ffe0",
         .absolute = 102,
         .size = 112},
    // The same in .NET Core 2.0: call or jmp rel32, and what tells the method.
    Form{.name = "[FixupPrecode]", .code = "e8???????? 5e????", .jump = 1, .size = 8},
    Form{.name = "[FixupPrecode]", .code = "e9???????? 5f????", .jump = 1, .size = 8},
    Form{.name = "[DispatchStub]",
         .code = "48b8???????????????? 483907 0f85???????? 48b8???????????????? ffe0 cc",
         .jump = 15,
         .size = 32},
    Form{.name = "[ResolveStub]",
         .code = "52 49ba???????????????? 488b07 488bd0 48c1e80c 4803c2 4835???????? 4825???????? "
                 "4a8b0410 49ba???????????????? 483b5000 75?? 4c3b5008 75?? 488b4010 5a ffe0 "
                 "48b8???????????????? 8300ff 7d?? 4983cb01 52 49ba???????????????? 50 "
                 "48b8???????????????? ffe0",
         .absolute = 102,
         .size = 112},
    // What ReadyToRun code calls: a word or two for a helper; or a constant.
    Form{.name = kHelper, .code = "48bf???????????????? e9????????", .jump = 11},
    Form{.name = kHelper, .code = "48be???????????????? e9????????", .jump = 11},
    Form{.name = kHelper, .code = "48ba???????????????? e9????????", .jump = 11},
    Form{.name = kHelper, .code = "488bf7 48bf???????????????? e9????????", .jump = 14},
    Form{.name = kHelper,
         .code = "48bf???????????????? 48be???????????????? e9????????",
         .jump = 21},
    Form{.name = kHelper,
         .code = "48ba???????????????? 48b9???????????????? e9????????",
         .jump = 21},
    Form{.name = kHelper, .code = "48b8???????????????? c3"},
    Form{.name = kHelper, .code = "48a1???????????????? c3"},
    Form{.name = kHelper, .code = "48a1???????????????? 4883c0?? c3"},
};

uint32_t u32_at(Bytes code, size_t at) {
  ByteCursor cursor(code);
  cursor.seek(at);
  return cursor.u32();
}

uint64_t u64_at(Bytes code, size_t at) {
  ByteCursor cursor(code);
  cursor.seek(at);
  return cursor.u64();
}

// What a displacement at `at` leads to, of an instruction that ends with it.
uint64_t target_at(Bytes code, uint64_t address, size_t at) {
  return address + at + 4 +
         static_cast<uint64_t>(int64_t{std::bit_cast<int32_t>(u32_at(code, at))});
}

// The size of `size` bytes with the int3 behind them up to the next stub; nothing when there is
// something else.
std::optional<size_t> padded(Bytes code, size_t size) {
  const size_t whole =
      (size + kDotnetStubAlignment - 1) / kDotnetStubAlignment * kDotnetStubAlignment;
  if (whole > code.size()) return std::nullopt;
  const Bytes padding = code.subspan(size, whole - size);
  if (std::ranges::any_of(padding, [](std::byte each) { return each != std::byte{0xcc}; })) {
    return std::nullopt;
  }
  return whole;
}

// Pages of stubs and pages of their data take turns.
bool is_page_distance(uint64_t distance) {
  return std::has_single_bit(distance) && distance >= 0x1000 && distance <= 0x10000;
}

bool words_agree(const Form& form, Bytes code, uint64_t address) {
  if (form.words[0] == kNone) return true;
  const uint64_t first = target_at(code, address, form.words[0]);
  if (!is_page_distance(first - address)) return false;
  for (size_t i = 1; i < form.words.size() && form.words[i] != kNone; ++i) {
    if (target_at(code, address, form.words[i]) != first + (8 * i)) return false;
  }
  return true;
}

std::optional<DotnetStub> of_one_form(Bytes code, uint64_t address, const IsCode& is_code) {
  for (const Form& form : kForms) {
    if (!begins_as(code, form.code) || !words_agree(form, code, address)) continue;
    if (form.jump != kNone && !is_code(target_at(code, address, form.jump))) continue;
    if (form.absolute != kNone && !is_code(u64_at(code, form.absolute))) continue;
    const size_t size = pattern_size(form.code);
    if (form.size != 0) return DotnetStub{form.name, 0, std::min(form.size, code.size())};
    if (const auto whole = padded(code, size)) return DotnetStub{form.name, 0, *whole};
  }
  return std::nullopt;
}

// Reads what generic code needs out of a dictionary, or asks a helper for it:
//   mov rax, [rdi + x]; mov rax, [rax + y]...; cmp [rax + size], slot; jle; mov rax, [rax + z];
//   test rax, rax; je; ret; mov rsi, arguments; jmp helper
std::optional<DotnetStub> dictionary_lookup(Bytes code, uint64_t address, const IsCode& is_code) {
  constexpr size_t kMostLoads = 8;
  size_t at = 0;
  for (size_t loads = 0; loads < kMostLoads; ++loads) {
    Bytes rest = code.subspan(at);
    if (loads != 0 && begins_as(rest, "488178?? ???????? 7e??")) at += 10;
    if (loads != 0 && begins_as(rest, "4881b8???????? ???????? 7e??")) at += 13;
    rest = code.subspan(at);
    if (begins_as(rest, loads == 0 ? "488b47??" : "488b40??")) {
      at += 4;
    } else if (begins_as(rest, loads == 0 ? "488b87????????" : "488b80????????")) {
      at += 7;
    } else {
      break;
    }
  }
  if (at == 0) return std::nullopt;
  constexpr std::string_view kAsk = "4885c0 7401 c3 48be???????????????? e9????????";
  const Bytes rest = code.subspan(at);
  if (!begins_as(rest, kAsk)) return std::nullopt;
  at += pattern_size(kAsk);
  if (!is_code(target_at(code, address, at - 4))) return std::nullopt;
  const auto whole = padded(code, at);
  return whole ? std::optional(DotnetStub{kHelper, 0, *whole}) : std::nullopt;
}

// One instruction that moves an argument; 0: none of those.
size_t move_size(Bytes code) {
  ByteCursor cursor(code);
  const uint8_t rex = cursor.u8();
  const uint8_t opcode = cursor.u8();
  const uint8_t modrm = cursor.u8();
  if (!cursor.ok() || (rex & 0xf8U) != 0x48) return 0;
  const bool registers = modrm >= 0xc0;
  if (opcode >= 0xb8 && opcode <= 0xbf) return code.size() >= 10 ? 10 : 0;
  if ((opcode == 0x89 || opcode == 0x8b) && registers) return 3;
  // add reg, imm8
  if (opcode == 0x83 && (modrm & 0xf8U) == 0xc0) return code.size() >= 4 ? 4 : 0;
  if (opcode != 0x89 && opcode != 0x8b) return 0;
  // [reg + displacement], [rsp + displacement]
  const size_t sib = (modrm & 7U) == 4 ? 1 : 0;
  const unsigned mode = modrm >> 6U;
  if (mode == 0 && (modrm & 7U) == 5) return 0;
  const size_t size = 3 + sib + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
  return size <= code.size() ? size : 0;
}

// What has the header of a `Stub`: a count of users, the size of the code with flags in its upper
// byte, and 8 bytes more; in .NET Core 2.0 flags, size and 4 bytes more.
struct Header {
  bool shuffle = false;
  bool to_method = false;
  size_t size = 0;
};
constexpr size_t kHeader = 16;

std::optional<Header> header_of(Bytes code) {
  constexpr uint32_t kMostUsers = 1U << 24U;
  ByteCursor cursor(code);
  const uint32_t users = cursor.u32();
  const uint32_t size_and_flags = cursor.u32();
  const uint32_t size_alone = cursor.u32();
  const uint32_t padding = cursor.u32();
  const uint32_t flags = size_and_flags >> 24U;
  Header out;
  out.shuffle = flags == 0x24 || flags == 0x20;
  out.to_method = flags == 0x30 || flags == 0x20;
  out.size = size_and_flags & 0xffffffU;
  if (flags == 0x20) {
    if (out.size != 0 || padding != 0) return std::nullopt;
    out.size = size_alone;
  }
  if (!cursor.ok() || users == 0 || users > kMostUsers || !(out.shuffle || out.to_method) ||
      out.size == 0 || out.size % kDotnetStubAlignment != 0 ||
      out.size > kLargestDotnetStub - kHeader || out.size > code.size() - kHeader) {
    return std::nullopt;
  }
  return out;
}

// Moves of arguments, and a jump: to the method of the delegate in r11, to a method or to what a
// word holds.
std::optional<DotnetStub> with_header(Bytes code, const IsCode& is_code) {
  const auto header = header_of(code);
  if (!header) return std::nullopt;
  const Bytes body = code.subspan(kHeader, header->size);
  size_t at = 0;
  while (const size_t move = move_size(body.subspan(at))) at += move;
  if (header->shuffle && begins_as(body, "488bc4 4989fb")) {
    constexpr size_t kLoad = pattern_size("4d8b53?? 4983c3??");
    if (at < kLoad || !begins_as(body.subspan(at - kLoad), "4d8b53?? 4983c3?? 49ffe2")) {
      return std::nullopt;
    }
    // The moves stand behind it once more, as data.
    return DotnetStub{"[ShuffleThunk]", kHeader, header->size};
  }
  const auto ends_as = [&](std::string_view pattern) {
    const size_t before_jump = pattern_size(pattern) - 2;
    return at >= before_jump && begins_as(body.subspan(at - before_jump), pattern);
  };
  const bool direct =
      ends_as("48b8???????????????? ffe0") && is_code(u64_at(body, at - sizeof(uint64_t)));
  const bool by_word = ends_as("48b8???????????????? 488b00 ffe0");
  if (!header->to_method || !(direct || by_word) || header->size - at > 2 + kDotnetStubAlignment) {
    return std::nullopt;
  }
  const bool unboxing = begins_as(body, "4883c708");
  return DotnetStub{unboxing ? "[UnboxingStub]" : "[InstantiatingStub]", kHeader, header->size};
}

}  // namespace

std::optional<DotnetStub> dotnet_stub_at(Bytes code, uint64_t address, const IsCode& is_code) {
  code = code.first(std::min(code.size(), kLargestDotnetStub));
  if (code.size() < kDotnetStubAlignment) return std::nullopt;
  std::optional<DotnetStub> found;
  // Most places are none of these.
  switch (std::to_integer<unsigned>(code[0])) {
    case 0xff:
    case 0x4c:
    case 0x90:
    case 0x52:
    case 0xe8:
    case 0xe9:
      found = of_one_form(code, address, is_code);
      break;
    case 0x48:
      found = of_one_form(code, address, is_code);
      if (!found) found = dictionary_lookup(code, address, is_code);
      if (const size_t size = found ? 0 : write_barrier_size(code); size != 0) {
        found = DotnetStub{"[JIT_WriteBarrier]", 0, size};
      }
      break;
    case 0xc3:
      if (const size_t size = checked_write_barrier_size(code, address); size != 0) {
        found = DotnetStub{"[JIT_CheckedWriteBarrier]", 1, size};
      }
      break;
    default:
      break;
  }
  return found ? found : with_header(code, is_code);
}

}  // namespace jitscope
