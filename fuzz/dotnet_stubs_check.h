// What must hold for what is recognised as .NET's own code in any bytes; shared by the fuzz target
// and by the test that replays its corpus. Input: the bytes of executable memory. Empty: all is
// well.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "runtimes/dotnet/dotnet_stubs.h"
#include "runtimes/dotnet/stub_patterns.h"

namespace jitscope::fuzz {

inline constexpr uint64_t kStubsAt = 0x10000;

class StubMemory : public MemoryReader {
 public:
  explicit StubMemory(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Status read(uint64_t address, std::span<std::byte> out) override {
    const uint64_t at = address - kStubsAt;
    if (at > bytes_.size() || out.size() > bytes_.size() - at) {
      return fail(ErrorKind::damaged, "not mapped");
    }
    std::ranges::copy(bytes_.subspan(at, out.size()), out.begin());
    return {};
  }

 private:
  std::span<const std::byte> bytes_;
};

inline std::vector<Mapping> stub_maps(size_t size) {
  Mapping mapping;
  mapping.start = kStubsAt;
  mapping.end = kStubsAt + size;
  mapping.readable = mapping.executable = true;
  return {mapping};
}

inline std::string_view check_dotnet_stubs(std::span<const std::byte> bytes) {
  for (size_t at = 0; at < bytes.size() && at < 4096; at += kDotnetStubAlignment) {
    const auto rest = bytes.subspan(at);
    const auto found = dotnet_stub_at(rest, kStubsAt + at, [](uint64_t) { return true; });
    if (!found) continue;
    if (found->name.empty() || found->size == 0) return "a stub of nothing";
    if (found->size > rest.size() || found->begin > rest.size() - found->size) {
      return "a stub beyond the bytes";
    }
    if (found->size > kLargestDotnetStub) return "a stub that is too large";
  }
  StubMemory memory(bytes);
  const Snapshot all = find_dotnet_stubs(stub_maps(bytes.size()), memory);
  uint64_t end = kStubsAt;
  for (const CodeBody& body : all.bodies) {
    if (body.address < end || body.size == 0) return "bodies that overlap";
    end = body.address + body.size;
  }
  return end > kStubsAt + bytes.size() ? "a body beyond the memory" : "";
}

}  // namespace jitscope::fuzz
