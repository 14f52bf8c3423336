// The machine code that .NET's runtime (CoreCLR on x86-64) makes for itself in memory, recognised
// by its instructions: what sends calls on (precodes, stubs, thunks), helpers of ReadyToRun code,
// and the write barriers, which it copies out of its library to patch them. Perf maps list next to
// none of it. Formats: dotnet/runtime, src/coreclr/vm/amd64 (thunktemplates, cgenamd64.cpp,
// virtualcallstubcpu.hpp, jithelpers_fast, patchedcode) and vm/stublink.h; those of .NET 8 and
// .NET Core 2.0 were seen.
//
// Only whole sequences count, with what must agree in them: that words of data lie at one distance
// and one behind the other, that jumps lead to code, that padding is padding. No system calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace jitscope {

struct DotnetStub {
  std::string_view name;  // "[FixupPrecode]"
  size_t begin = 0;       // its first instruction: behind a header, where it has one
  size_t size = 0;        // from there on, with its padding
};

// All have such addresses, but for the checked write barrier, which is the second byte of a page.
inline constexpr size_t kDotnetStubAlignment = 8;
// No stub is larger.
inline constexpr size_t kLargestDotnetStub = 1024;

using IsCode = std::function<bool(uint64_t address)>;

// What begins, or whose header begins, with the first byte of `code`, which lies at `address`.
[[nodiscard]] std::optional<DotnetStub> dotnet_stub_at(std::span<const std::byte> code,
                                                       uint64_t address, const IsCode& is_code);

}  // namespace jitscope
