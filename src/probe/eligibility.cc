#include "probe/eligibility.h"

#include <fmt/format.h>

#include <cstring>

#include "arch/machine.h"

namespace jitscope {
std::string why_not(const CodeBody& body, std::span<const std::byte> entry_bytes, EntryUse use) {
  if (!body.not_probeable.empty()) return body.not_probeable;
  if (body.osr) return "OSR body: calls do not enter it";
  if (body.tier == Tier::bytecode) return "bytecode, not machine code";
  if (body.tier == Tier::stub) return "runtime stub";
  if (body.state == BodyState::not_entrant || body.state == BodyState::dead) return "not entrant";
  if (body.entry == 0) return "its entry is not known";
  if (entry_bytes.size() < 8) return "its entry cannot be read";
  if (machine::begins_with_jump(entry_bytes)) {
    return "its entry is a jump: just replaced by the runtime, or probed by another jitscope "
           "(`jitscope expose --undo` takes back what a dead one left)";
  }
  if (use == EntryUse::none) return {};
  if ((body.entry & 4095U) > 4096 - 8) return "its entry crosses a page";
  if (machine::begins_with_trap(entry_bytes))
    return "its entry carries a breakpoint of another tool";
  if (use == EntryUse::jump && body.convention == CallConvention::hotspot_x86_64 &&
      !machine::is_patchable_hotspot_entry(entry_bytes)) {
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
