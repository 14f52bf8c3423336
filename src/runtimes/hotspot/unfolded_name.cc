// Chains of methods in one name; see unfolded_name.h.
#include "runtimes/hotspot/unfolded_name.h"

#include <algorithm>

namespace jitscope {
namespace {

constexpr std::string_view kArrow = "->";
constexpr std::string_view kIn = " in ";
constexpr std::string_view kColons = "::";
// As deep as `jitscope map` writes them.
constexpr size_t kMostParts = 256;

bool in_class_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= 'a' && byte <= 'z') || c == '_' || c == '$' || c == '.' || c == '/' || c == '-';
}

std::vector<std::string_view> split(std::string_view text, std::string_view between) {
  std::vector<std::string_view> parts;
  while (parts.size() < kMostParts) {
    const size_t end = std::min(text.find(between), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + between.size());
  }
  return {};
}

}  // namespace

bool is_java_map_name(std::string_view text) {
  const size_t colons = text.find(kColons);
  if (colons == std::string_view::npos) return false;
  std::string_view type = text.substr(0, colons);
  if (type.starts_with('L') && type.ends_with(';')) {
    type = type.substr(1, type.size() - 2);
  }
  const std::string_view method = text.substr(colons + kColons.size());
  const std::string_view name = method.substr(0, method.find('('));
  return !type.empty() && std::ranges::all_of(type, in_class_name) && !name.empty() &&
         method.front() != ' ' && method.back() != ' ' && !name.contains(kColons) &&
         (name == "<init>" || name == "<clinit>" ||
          name.find_first_of(".;[/<>") == std::string_view::npos);
}

std::vector<std::string_view> unfolded_java_parts(std::string_view raw) {
  for (const std::string_view between : {kArrow, kIn}) {
    if (!raw.contains(between)) continue;
    std::vector<std::string_view> parts = split(raw, between);
    if (parts.size() < 2 || !std::ranges::all_of(parts, is_java_map_name)) continue;
    if (between == kIn) {
      if (parts.size() != 2) continue;
      std::ranges::reverse(parts);
    }
    return parts;
  }
  return {};
}

}  // namespace jitscope
