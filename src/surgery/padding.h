// Padding: zero bytes behind the code of an ELF file mapped into a process, where a stub fits.
//
// A page that holds the end of a file's code is filled up with zeros, up to 4 KiB of them, which
// are executable and which nobody uses. A stub that a killed tracer left there begins with
// kStubMagic and counts as padding too, to be overwritten once no thread is in it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "process/process.h"

namespace jitscope {

struct Padding {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t leftover = 0;  // bytes of an earlier stub at `address`
  std::string path;
};

// Places of at least `needed` bytes, best first: libc, then other libraries and the program; never
// an image of jitscope itself. An error (not_possible) when there is none.
Result<std::vector<Padding>> find_padding(const Process& process, const std::vector<Mapping>& maps,
                                          uint64_t needed);

// The padding in the last page of a mapping; nullopt when there is none. `page` ends at `end`.
[[nodiscard]] std::optional<Padding> padding_in_page(std::span<const std::byte> page, uint64_t end);

// Whether the bytes there are still what find_padding saw.
[[nodiscard]] bool padding_unchanged(const Process& process, const Padding& padding);

}  // namespace jitscope
