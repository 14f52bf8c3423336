// Whether a body's entry may carry a site, from what is known of it and from its first bytes.
#pragma once

#include <span>
#include <string>

#include "code/code_body.h"
#include "probe/site.h"
#include "process/bpf_session.h"

namespace jitscope {

// "" when `backend` may be used; else the reason. `entry_bytes` are the bytes from the entry on.
// HotSpot: a jump is only put over the entry forms that the JVM itself can patch over
// (MacroAssembler::verified_entry): stack bang, frame allocation, and the class-initialisation
// check.
[[nodiscard]] std::string why_not(const CodeBody& body, std::span<const std::byte> entry_bytes,
                                  Backend backend);

// Guards for the stop: the body is still this very version.
[[nodiscard]] std::vector<Guard> guards_of(const CodeBody& body);

// What the kernel checks at each hit where the bytes themselves are not ours (breakpoints).
[[nodiscard]] HitCheck hit_check_of(const CodeBody& body);

}  // namespace jitscope
