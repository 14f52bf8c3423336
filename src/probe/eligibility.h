// Whether a body's entry may carry a site, from what is known of it and from its first bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "code/code_body.h"
#include "ebpf/bpf_session.h"
#include "probe/site.h"

namespace jitscope {

// What a site does to the entry.
enum class EntryUse : uint8_t {
  none,  // it fires whatever lies there
  trap,  // one byte of it becomes a breakpoint instruction
  jump,  // a jump over its first instructions, which are moved
};

// "" when that may be done; else the reason. `entry_bytes` are the bytes from the entry on.
// HotSpot: a jump is only put over the entry forms of MacroAssembler::verified_entry: stack bang,
// frame allocation, and the class-initialisation check. Those are what the JVM itself can patch
// over, where it patches entries.
[[nodiscard]] std::string why_not(const CodeBody& body, std::span<const std::byte> entry_bytes,
                                  EntryUse use);

// Guards for the stop: the body is still this very version.
[[nodiscard]] std::vector<Guard> guards_of(const CodeBody& body);

// What the kernel checks at each hit where the bytes themselves are not ours (breakpoints): the
// compile id and, where it lies within the same 8 bytes, the state.
[[nodiscard]] HitCheck hit_check_of(const CodeBody& body);

// The same where the bytes are ours (trampolines, in-place sites). A JVM that patches entries puts
// its own jump over ours when it makes the body not entrant; one that does not (JDK 26 on) lets
// calls still come, and sends them on to another body, where they count. There the state tells;
// nothing where it cannot.
[[nodiscard]] HitCheck state_check_of(const CodeBody& body);

}  // namespace jitscope
