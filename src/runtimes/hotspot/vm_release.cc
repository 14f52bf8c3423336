// Reads a JVM's version; see vm_release.h.
#include "runtimes/hotspot/vm_release.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/byte_cursor.h"

namespace jitscope::hotspot {
namespace {

constexpr size_t kMostText = 512;
constexpr uint64_t kFirstWithOneNumber = 9;  // the JDK from which on HotSpot has its number

// The text that a static `const char*` of the JVM points to.
Result<std::string> static_text(MemoryReader& memory, const VmStructs& structs,
                                std::string_view field) {
  auto address = structs.static_address("Abstract_VM_Version", field);
  if (!address) address = structs.static_address("VM_Version", field);
  if (!address) return fail(std::move(address.error()));
  JITSCOPE_ASSIGN(const uint64_t text, read_u64(memory, *address));
  // Read up to the end of the page first: the text may be the last of its mapping.
  std::string result;
  while (result.size() < kMostText) {
    const uint64_t at = text + result.size();
    std::array<std::byte, 64> bytes{};
    const auto piece =
        std::span(bytes).first(std::min<uint64_t>(bytes.size(), 4096 - (at & 4095U)));
    JITSCOPE_TRY(memory.read(at, piece));
    const auto* const start = reinterpret_cast<const char*>(piece.data());
    const size_t length = std::find(start, start + piece.size(), '\0') - start;
    result.append(start, length);
    if (length < piece.size()) break;
  }
  if (result.empty() || result.size() >= kMostText ||
      !std::ranges::all_of(result, [](char c) { return c >= 0x20 && c < 0x7f; })) {
    return fail(ErrorKind::damaged, "the JVM's version is no text", fmt::format("{:#x}", text));
  }
  return result;
}

// JDK_Version::_current's number, where there is one.
std::optional<uint64_t> jdk_major(MemoryReader& memory, const VmStructs& structs) {
  const auto current = structs.static_address("JDK_Version", "_current");
  const auto field = structs.member_if({"JDK_Version"}, {"_major"});
  if (!current || !field || field->width != 1) return std::nullopt;
  std::array<std::byte, 1> major{};
  if (!memory.read(*current + field->offset, major)) return std::nullopt;
  return std::to_integer<uint64_t>(major[0]);
}

}  // namespace

Result<std::string> read_vm_release(MemoryReader& memory, const VmStructs& structs) {
  JITSCOPE_ASSIGN(std::string release, static_text(memory, structs, "_s_vm_release"));
  const auto major = jdk_major(memory, structs);
  if (!major || *major == 0 || *major >= kFirstWithOneNumber) return release;
  // "OpenJDK 64-Bit Server VM (25.504-b01) for linux-amd64 JRE (1.8.0_504-8u504-b08), built on ..."
  if (const auto text = static_text(memory, structs, "_s_internal_vm_info_string")) {
    constexpr std::string_view kBefore = "JRE (";
    const size_t begin = text->find(kBefore);
    const size_t end = begin == std::string::npos ? begin : text->find(')', begin);
    if (end != std::string::npos) {
      const size_t from = begin + kBefore.size();
      if (end > from) return text->substr(from, end - from);
    }
  }
  return fmt::format("{} (HotSpot {})", *major, release);
}

}  // namespace jitscope::hotspot
