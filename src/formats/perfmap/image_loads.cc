// See image_loads.h.
#include "formats/perfmap/image_loads.h"

#include <algorithm>
#include <charconv>

#include "formats/perfmap/offline_map.h"

namespace jitscope {
namespace {

uint64_t base_of_text(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  uint64_t base = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), base, 16);
  return error == std::errc() && end == text.data() + text.size() ? base : 0;
}

}  // namespace

std::optional<ImageLoad> parse_image_load(std::string_view line) {
  constexpr std::string_view kind = "ImageLoad;";
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.starts_with(kind)) return std::nullopt;
  line.remove_prefix(kind.size());
  // A path may hold anything, what is behind it may not.
  const size_t open = line.rfind(";{");
  if (open == std::string_view::npos || open == 0) return std::nullopt;
  std::string_view rest = line.substr(open + 1);
  const size_t close = rest.find("};");
  if (close == std::string_view::npos) return std::nullopt;
  auto guid = normal_guid(rest.substr(0, close + 1));
  if (!guid) return std::nullopt;
  ImageLoad out{std::string(line.substr(0, open)), std::move(*guid), 0};
  rest.remove_prefix(close + 2);
  if (rest.ends_with(';')) out.base = base_of_text(rest.substr(0, rest.size() - 1));
  return out;
}

std::vector<ImageLoad> parse_image_loads(std::string_view text, size_t most) {
  std::vector<ImageLoad> out;
  while (!text.empty() && out.size() < most) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (auto load = parse_image_load(text.substr(0, end))) out.push_back(std::move(*load));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace jitscope
