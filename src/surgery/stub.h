// The self-restoring stub: a few instructions that make system calls on a borrowed thread and then
// put every register back and jump to where the thread was. Nothing of it needs the tracer: should
// that die at any moment, the thread finishes the stub by itself.
//
// The stub touches no memory of the target. The registers that system calls change are written into
// its last instructions as constants, so the thread's stack may be full, foreign or small; the
// flags survive because only moves and system calls are used. Layout: the magic, the total size,
// then code from kStubEntry on, then the texts that the calls point to.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "surgery/surgery.h"
#include "surgery/thread_registers.h"

namespace jitscope {

inline constexpr std::string_view kStubMagic{"\x0f\x0bjitscope stub", 15};
inline constexpr uint64_t kStubSizeAt = 16;  // a 32-bit little-endian number
inline constexpr uint64_t kStubEntry = 32;

// The stub for `calls`, to be placed at `address`; it ends in the state `back`, which must hold no
// system call to restart (before_system_call). Fails for arguments that make no sense.
Result<Bytes> assemble_stub(std::span<const RemoteCall> calls, uint64_t address,
                            const Registers& back);

// Bytes that a stub for these calls needs at most.
Result<uint64_t> stub_size(std::span<const RemoteCall> calls);

}  // namespace jitscope
