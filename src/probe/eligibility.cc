#include "probe/eligibility.h"

#include <fmt/format.h>

#include <cstring>

namespace jitscope {
namespace {

bool starts_with(std::span<const std::byte> bytes, std::initializer_list<unsigned> pattern) {
  if (bytes.size() < pattern.size()) return false;
  size_t at = 0;
  for (const unsigned value : pattern) {
    if (bytes[at++] != static_cast<std::byte>(value)) return false;
  }
  return true;
}

bool patchable_hotspot_entry(std::span<const std::byte> bytes) {
  return starts_with(bytes, {0x89, 0x84, 0x24}) ||  // mov %eax,-disp32(%rsp): stack bang
         starts_with(bytes, {0x48, 0x81, 0xec}) ||  // sub $imm32,%rsp
         starts_with(bytes, {0x49, 0xba}) ||        // mov $imm64,%r10: class initialisation barrier
         // JVMs that never patch entries (JDK 26 on) take the short form: sub $imm8,%rsp, and
         // behind it mov %rbp,disp8(%rsp). Both are moved, which surgery does only while no thread
         // stands between them.
         (starts_with(bytes, {0x48, 0x83, 0xec}) &&
          starts_with(bytes.subspan(4), {0x48, 0x89, 0x6c, 0x24}));
}

}  // namespace

std::string why_not(const CodeBody& body, std::span<const std::byte> entry_bytes, EntryUse use) {
  if (!body.not_probeable.empty()) return body.not_probeable;
  if (body.osr) return "OSR body: calls do not enter it";
  if (body.tier == Tier::bytecode) return "bytecode, not machine code";
  if (body.tier == Tier::stub) return "runtime stub";
  if (body.state == BodyState::not_entrant || body.state == BodyState::dead) return "not entrant";
  if (body.entry == 0) return "its entry is not known";
  if (entry_bytes.size() < 8) return "its entry cannot be read";
  if (starts_with(entry_bytes, {0xe9})) {
    return "its entry is a jump: just replaced by the runtime, or probed by another jitscope "
           "(`jitscope expose --undo` takes back what a dead one left)";
  }
  if (use == EntryUse::none) return {};
  if ((body.entry & 4095U) > 4096 - 8) return "its entry crosses a page";
  if (starts_with(entry_bytes, {0xcc})) return "its entry carries a breakpoint of another tool";
  if (use == EntryUse::jump && body.convention == CallConvention::hotspot_x86_64 &&
      !patchable_hotspot_entry(entry_bytes)) {
    return fmt::format(
        "its first instruction ({:02x} {:02x} {:02x} ...) is not one that may be "
        "patched over",
        static_cast<unsigned>(entry_bytes[0]), static_cast<unsigned>(entry_bytes[1]),
        static_cast<unsigned>(entry_bytes[2]));
  }
  return {};
}

std::vector<Guard> guards_of(const CodeBody& body) {
  std::vector<Guard> guards;
  for (const IdentityCheck& check : body.identity) {
    guards.push_back({check.address, check.expected});
  }
  return guards;
}

HitCheck hit_check_of(const CodeBody& body) {
  HitCheck check;
  check.skip_if_jump = body.convention == CallConvention::hotspot_x86_64;
  // The compile id (4 bytes) is never used twice by a JVM, so it alone tells the body.
  for (const IdentityCheck& identity : body.identity) {
    if (identity.expected.size() != 4) continue;
    uint32_t value = 0;
    std::memcpy(&value, identity.expected.data(), sizeof(value));
    check.address = identity.address;
    check.value = value;
    check.mask = 0xffffffffU;
    break;
  }
  for (const IdentityCheck& identity : body.identity) {
    const uint64_t at = identity.address - check.address;
    if (check.address == 0 || identity.expected.size() != 1 || at < 4 || at > 7) continue;
    check.value |= std::to_integer<uint64_t>(identity.expected.front()) << (8 * at);
    check.mask |= uint64_t{0xff} << (8 * at);
  }
  return check;
}

HitCheck state_check_of(const CodeBody& body) {
  HitCheck check = hit_check_of(body);
  if (body.convention != CallConvention::hotspot_x86_64 || check.mask <= 0xffffffffU) return {};
  check.skip_if_jump = false;
  return check;
}

}  // namespace jitscope
