// See runtime_info.h.
#include "runtimes/dotnet/runtime_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/byte_cursor.h"
#include "runtimes/common/exported_symbol.h"

namespace jitscope {
namespace {

constexpr std::string_view kSymbol = "DotNetRuntimeInfo";
constexpr size_t kVersionAt = 20;           // behind the signature
constexpr size_t kRuntimeVersionAt = 96;    // behind three ids of modules
constexpr uint32_t kHasRuntimeVersion = 2;  // .NET 8
constexpr uint32_t kMostPart = 99'999;

}  // namespace

std::string read_runtime_info(MemoryReader& memory, uint64_t address) {
  std::array<std::byte, kRuntimeVersionAt + 16> bytes{};
  if (!memory.read(address, std::span(bytes).first(kVersionAt + 4))) return {};
  ByteCursor cursor(bytes);
  if (cursor.c_string() != kSymbol) return {};
  cursor.seek(kVersionAt);
  if (cursor.u32() < kHasRuntimeVersion) return "before 8";
  if (!memory.read(address, bytes)) return {};
  cursor.seek(kRuntimeVersionAt);
  const uint32_t major = cursor.u32();
  const uint32_t minor = cursor.u32();
  // Of a file's version: the patch's number, then two digits of its year.
  const uint32_t patch = cursor.u32() / 100;
  if (major > kMostPart || minor > kMostPart || patch > kMostPart) return {};
  return fmt::format("{}.{}.{}", major, minor, patch);
}

std::string single_file_version(const Process& process) {
  const auto maps = process.maps();
  if (!maps) return {};
  // Parts of the program lie elsewhere, too, some of them lower: the images that are bundled in it.
  const std::string executable = process.executable();
  const auto first = std::ranges::find_if(*maps, [&](const Mapping& mapping) {
    return mapping.offset == 0 && !mapping.shared && mapping.path == executable;
  });
  if (first == maps->end()) return {};
  const uint64_t base = first->start;
  const auto address =
      exported_variable("", fmt::format("/proc/{}/exe", process.pid()), base, kSymbol);
  return address ? read_runtime_info(process.memory(), *address) : std::string();
}

}  // namespace jitscope
