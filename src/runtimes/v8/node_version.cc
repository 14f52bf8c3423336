// Finding and reading node::per_process::metadata; see node_version.h.
#include "runtimes/v8/node_version.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/byte_cursor.h"
#include "runtimes/common/exported_symbol.h"

namespace jitscope {
namespace {

constexpr std::string_view kSymbol = "_ZN4node11per_process8metadataE";
constexpr size_t kLongestVersion = 40;

// "20.20.2", "23.0.0-nightly2024...": digits, two dots, then what versions are made of.
bool looks_like_version(std::string_view text) {
  const auto digits = [&text] {
    size_t count = 0;
    while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
    text.remove_prefix(count);
    return count > 0 && count < 5;
  };
  const auto dot = [&text] {
    if (!text.starts_with('.')) return false;
    text.remove_prefix(1);
    return true;
  };
  if (!digits() || !dot() || !digits() || !dot() || !digits()) return false;
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '+';
  });
}

}  // namespace

std::string read_version_string(MemoryReader& memory, uint64_t address) {
  std::array<std::byte, 32> object{};
  if (!memory.read(address, object)) return {};
  // libc++: a short string lies in the object, its length doubled in the first byte.
  const auto head = std::to_integer<uint8_t>(object[0]);
  if (head % 2 == 0 && head / 2 > 0 && head / 2 < 23) {
    const std::string_view inside(reinterpret_cast<const char*>(object.data()) + 1, head / 2U);
    if (looks_like_version(inside)) return std::string(inside);
  }
  // libstdc++: pointer, length; short ones point into the object.
  ByteCursor cursor(object);
  const uint64_t pointer = cursor.u64();
  const uint64_t length = cursor.u64();
  if (length == 0 || length > kLongestVersion) return {};
  std::string text(length, '\0');
  if (!memory.read(pointer, std::as_writable_bytes(std::span(text)))) return {};
  return looks_like_version(text) ? text : std::string();
}

std::string node_version(const Process& process, const std::string& root,
                         const std::string& elf_path, uint64_t base) {
  const auto address = exported_variable(root, elf_path, base, kSymbol);
  return address ? read_version_string(process.memory(), *address) : std::string();
}

}  // namespace jitscope
