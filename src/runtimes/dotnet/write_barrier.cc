// See write_barrier.h. A walk over the instructions: anything else than what barriers are made of
// ends it, and so does the return behind which no jump leads.
#include "runtimes/dotnet/write_barrier.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/page.h"
#include "runtimes/dotnet/byte_pattern.h"

namespace jitscope {
namespace {

constexpr size_t kLargestBarrier = 512;

constexpr std::array<std::string_view, 38> kInstructions = {
    "48b8????????????????",  // mov rax, table
    "49b8????????????????",  // mov r8, bound
    "49b9????????????????",  // mov r9, bound
    "49ba????????????????",  // mov r10, bound
    "4989f8",                // mov r8, rdi
    "4c8bc7",
    "4489c1",      // mov ecx, r8d
    "4839c6",      // cmp rsi, rax
    "4c39c6",      // cmp rsi, r8
    "4c39ce",      // cmp rsi, r9
    "4c39d6",      // cmp rsi, r10
    "48c1ef??",    // shr rdi
    "48c1ee??",    // shr rsi
    "49c1e8??",    // shr r8
    "c1e9??",      // shr ecx
    "83e1??",      // and ecx
    "b2??",        // mov dl
    "d2e2",        // shl dl, cl
    "8a1406",      // mov dl, [rsi + rax]
    "3a1407",      // cmp dl, [rdi + rax]
    "803c07??",    // cmp byte [rdi + rax]
    "41803c00??",  // cmp byte [r8 + rax]
    "c60407??",    // mov byte [rdi + rax]
    "41c60400??",  // mov byte [r8 + rax]
    "41841400",    // test [r8 + rax], dl
    "f041081400",  // lock or [r8 + rax], dl
    // Where nothing happens.
    "90", "6690", "0f1f00", "0f1f4000", "0f1f440000", "660f1f440000", "0f1f80????????",
    "0f1f8400????????", "660f1f8400????????", "662e0f1f8400????????", "66662e0f1f8400????????",
    "666690"};

}  // namespace

size_t write_barrier_size(std::span<const std::byte> code) {
  constexpr std::string_view kStore = "488937";  // mov [rdi], rsi
  if (!begins_as(code, kStore)) return 0;
  code = code.first(std::min(code.size(), kLargestBarrier));
  size_t at = pattern_size(kStore);
  size_t reach = 0;         // of the jumps so far
  bool marks_card = false;  // what else all of this would be for
  while (at < code.size()) {
    const auto rest = code.subspan(at);
    const bool repeated = begins_as(rest, "f3c3");
    if (repeated || begins_as(rest, "c3")) {
      at += repeated ? 2 : 1;
      if (reach >= at) continue;
      return marks_card ? at : 0;
    }
    // jb, jae, je, jne: forward only
    if (begins_as(rest, "72??") || begins_as(rest, "73??") || begins_as(rest, "74??") ||
        begins_as(rest, "75??")) {
      const auto distance = std::to_integer<size_t>(rest[1]);
      if (distance >= 0x80) return 0;
      at += 2;
      reach = std::max(reach, at + distance);
      continue;
    }
    const auto known = std::ranges::find_if(
        kInstructions, [&](std::string_view each) { return begins_as(rest, each); });
    if (known == kInstructions.end()) return 0;
    marks_card = marks_card || begins_as(rest, "c60407ff") || begins_as(rest, "41c60400ff");
    at += pattern_size(*known);
  }
  return 0;
}

size_t checked_write_barrier_size(std::span<const std::byte> code, uint64_t address) {
  // lea rax, [lowest]; cmp rdi, [rax]; jb; lea rax, [highest]; cmp rdi, [rax]; jae;
  // jmp [barrier]; mov [rdi], rsi; ret
  constexpr std::string_view kChecked =
      "488d05???????? 483b38 72?? 488d05???????? 483b38 73?? ff25???????? 488937 c3";
  if (address % kPage != 0 || !begins_as(code, "c3") || !begins_as(code.subspan(1), kChecked)) {
    return 0;
  }
  return pattern_size(kChecked);
}

}  // namespace jitscope
