// CoreCLR's write barriers, as they lie in memory where it copies them to patch them: recognised by
// the few instructions that all their variants are made of (x86-64; dotnet/runtime:
// src/coreclr/vm/amd64/patchedcode, jithelpers_fast). No system calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace jitscope {

// Of the barrier that begins with the first byte, up to its last instruction; 0: it is none.
[[nodiscard]] size_t write_barrier_size(std::span<const std::byte> code);
// The copy begins with a `ret`, at the beginning of a page, and behind that the barrier that looks
// first whether the place lies in the heap.
[[nodiscard]] size_t checked_write_barrier_size(std::span<const std::byte> code, uint64_t address);

}  // namespace jitscope
