// See offline_map.h. The lines themselves are PerfMapIndex's.
#include "formats/perfmap/offline_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/byte_cursor.h"
#include "base/path.h"
#include "formats/perfmap/perf_map_line.h"

namespace jitscope {
namespace {

constexpr std::string_view kBaseOption = ":base=";
constexpr std::array kBases = {OfflineMapBase::file, OfflineMapBase::rva, OfflineMapBase::absolute};
// A crossgen2 map's lines about itself have these addresses and size 0.
constexpr uint64_t kCrossgenSignature = 0xffffffff;
constexpr uint64_t kCrossgenVersion = 0xfffffffe;
constexpr uint64_t kCrossgenSystem = 0xfffffffd;
constexpr uint64_t kCrossgenArchitecture = 0xfffffffc;
constexpr uint64_t kCrossgenAbi = 0xfffffffb;
// Values of those lines, from 1; 0 is unknown. Early maps have the words themselves.
constexpr std::array<std::string_view, 6> kSystems = {"Windows", "Linux",  "OSX",
                                                      "FreeBSD", "NetBSD", "SunOS"};
constexpr std::array<std::string_view, 4> kArchitectures = {"ARM", "ARM64", "X64", "X86"};
constexpr std::array<std::string_view, 2> kAbis = {"Default", "Armel"};
constexpr size_t kLongestValue = 32;
constexpr size_t kLongestBuildId = 128;  // digits

std::optional<OfflineMapBase> base_of(std::string_view text) {
  const auto found = std::ranges::find(kBases, text, [](OfflineMapBase b) { return to_string(b); });
  if (found == kBases.end()) return std::nullopt;
  return *found;
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::optional<std::string> normal_build_id(std::string_view text) {
  if (text.empty() || text.size() > kLongestBuildId || text.size() % 2 != 0 || !is_hex(text)) {
    return std::nullopt;
  }
  return lower(text);
}

bool has(const std::vector<std::string>& guids, const std::string& guid) {
  return std::ranges::find(guids, guid) != guids.end();
}

std::optional<uint64_t> number_of(std::string_view text) {
  return text.starts_with("0x") ? parse_hex(text) : parse_decimal(text);
}

// What a line of the header says; nothing: that it is not known.
std::optional<std::string> header_value(std::string_view text,
                                        std::span<const std::string_view> words) {
  text = trimmed(text).substr(0, kLongestValue);
  const std::optional<uint64_t> number = parse_decimal(text);
  if (text.empty() || number == 0 || lower(text) == "unknown") return std::nullopt;
  if (number && *number <= words.size()) return std::string(words[*number - 1]);
  const auto word = std::ranges::find_if(
      words, [&](std::string_view each) { return lower(each) == lower(text); });
  return std::string(word != words.end() ? *word : text);
}

// What a map says of itself, gathered line by line; the first thing that is wrong is kept.
class SelfDescription {
 public:
  void comment(std::string_view line) {
    line.remove_prefix(1);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string key = lower(trimmed(line.substr(0, colon)));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (key == "build-id") {
      set(identity.build_id, normal_build_id(value), line);
    } else if (key == "guid") {
      set(guid, normal_guid(value), line);
    } else if (key == "size") {
      set(identity.size, number_of(value), line);
    } else if (key == "time-stamp") {
      set(identity.time_stamp, number_of(value), line);
    } else if (key == "base") {
      set(base, base_of(value), line);
    }
  }
  void marker(uint64_t address, std::string_view name) {
    if (address == kCrossgenSignature) {
      // Of a map that is no crossgen2 map this may be any name: no error.
      if (auto found = normal_guid(trimmed(name))) set(identity.signature, std::move(found), name);
    } else if (address == kCrossgenVersion && parse_decimal(trimmed(name))) {
      crossgen = true;
    } else if (crossgen && address == kCrossgenSystem) {
      take(identity.system, name, kSystems);
    } else if (crossgen && address == kCrossgenArchitecture) {
      take(identity.architecture, name, kArchitectures);
    } else if (crossgen && address == kCrossgenAbi) {
      take(identity.abi, name, kAbis);
    }
  }

  MappedImageIdentity identity;
  std::optional<std::string> guid;
  std::optional<OfflineMapBase> base;
  bool crossgen = false;
  std::string wrong;

 private:
  void take(std::optional<std::string>& into, std::string_view name,
            std::span<const std::string_view> words) {
    if (auto value = header_value(name, words)) set(into, std::move(value), name);
  }
  template <typename T>
  void set(std::optional<T>& into, std::optional<T> value, std::string_view line) {
    if (!wrong.empty()) return;
    if (!value || (into && *into != *value)) {
      wrong = fmt::format("the map's `{}` {}", shown_perf_map_line(trimmed(line)),
                          value ? "contradicts an earlier line" : "makes no sense");
      return;
    }
    into = std::move(value);
  }
};

}  // namespace

std::string_view to_string(OfflineMapBase base) {
  switch (base) {
    case OfflineMapBase::file:
      return "file";
    case OfflineMapBase::rva:
      return "rva";
    case OfflineMapBase::absolute:
      return "absolute";
  }
  return "";
}

bool OfflineMapOption::names(std::string_view mapped_path) const {
  constexpr std::string_view kDeleted = " (deleted)";
  if (mapped_path == image) return true;
  if (mapped_path.ends_with(kDeleted)) mapped_path.remove_suffix(kDeleted.size());
  if (image.find('/') != std::string::npos) return mapped_path == image;
  return base_name(mapped_path) == image;
}

bool OfflineMapOption::names_part(std::string_view host, std::string_view entry) const {
  const size_t mark = image.rfind('!');
  if (mark == std::string::npos) return image == entry;
  const std::string_view wanted = std::string_view(image).substr(0, mark);
  return std::string_view(image).substr(mark + 1) == entry &&
         (wanted == host || (!wanted.contains('/') && wanted == base_name(host)));
}

Result<OfflineMapOption> parse_offline_map_option(std::string_view text) {
  const auto wrong = [&](std::string what) {
    return fail(ErrorKind::usage, std::move(what), std::string(text),
                "--map FILE=PATH[:base=file|rva|absolute]");
  };
  OfflineMapOption option;
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return wrong("--map needs a map and an image");
  option.file = text.substr(0, equals);
  std::string_view image = text.substr(equals + 1);
  if (const size_t at = image.rfind(kBaseOption); at != std::string_view::npos) {
    const std::string_view base = image.substr(at + kBaseOption.size());
    option.base = base_of(base);
    if (!option.base) return wrong(fmt::format("--map knows no base `{}`", base));
    image = image.substr(0, at);
  }
  option.image = image;
  if (option.file.empty()) return wrong("--map needs the name of a map");
  if (base_name(image).empty()) return wrong("--map needs the path or name of an image");
  return option;
}

std::optional<std::string> normal_guid(std::string_view text) {
  std::string digits;
  if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2);
  if (text.size() > 36) return std::nullopt;
  std::ranges::copy_if(text, std::back_inserter(digits), [](char c) { return c != '-'; });
  if (digits.size() != 32 || !is_hex(digits)) return std::nullopt;
  return lower(digits);
}

std::optional<std::string> guid_of_file_name(std::string_view path) {
  const std::string_view name = base_name(path);
  const size_t open = name.rfind('{');
  const size_t close = name.rfind('}');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  return normal_guid(name.substr(open, close - open + 1));
}

std::optional<std::string> identity_conflict(const MappedImageIdentity& map,
                                             const MappedImageIdentity& image) {
  const auto differ = [](const auto& a, const auto& b) { return a && b && *a != *b; };
  if (differ(map.build_id, image.build_id)) {
    return fmt::format("made for build-id {}, the image has {}", *map.build_id, *image.build_id);
  }
  if (differ(map.system, image.system)) {
    return fmt::format("made for {}, the image is for {}", *map.system, *image.system);
  }
  if (differ(map.architecture, image.architecture)) {
    return fmt::format("made for {}, the image is for {}", *map.architecture, *image.architecture);
  }
  if (differ(map.abi, image.abi)) {
    return fmt::format("made for the ABI {}, the image is for {}", *map.abi, *image.abi);
  }
  if (differ(map.signature, image.signature)) {
    return fmt::format("made for signature {}, the image has {}", *map.signature, *image.signature);
  }
  for (const std::string& guid : map.guids) {
    if (image.guids.empty() || has(image.guids, guid)) continue;
    return fmt::format("made for guid {}, the image has {}", guid, fmt::join(image.guids, ", "));
  }
  if (differ(map.time_stamp, image.time_stamp)) {
    return fmt::format("made for time stamp {:#x}, the image has {:#x}", *map.time_stamp,
                       *image.time_stamp);
  }
  if (differ(map.size, image.size)) {
    return fmt::format("made for an image of {} bytes, it has {}", *map.size, *image.size);
  }
  return std::nullopt;
}

bool agrees_in_something(const MappedImageIdentity& map, const MappedImageIdentity& image) {
  const auto same = [](const auto& a, const auto& b) { return a && b && *a == *b; };
  const bool guid = std::ranges::any_of(
      map.guids, [&](const std::string& each) { return has(image.guids, each); });
  return !identity_conflict(map, image) &&
         (same(map.build_id, image.build_id) || guid || same(map.signature, image.signature) ||
          same(map.time_stamp, image.time_stamp) || same(map.size, image.size));
}

Result<std::unique_ptr<OfflineMap>> OfflineMap::read(std::unique_ptr<ByteSource> source,
                                                     std::optional<OfflineMapBase> base,
                                                     Diagnostics& diagnostics) {
  const std::string where = source->where();
  SelfDescription self;
  PerfMapIndexOptions options;
  options.comment = [&](std::string_view line) { self.comment(line); };
  options.marker = [&](uint64_t address, std::string_view name) { self.marker(address, name); };
  JITSCOPE_ASSIGN(auto index, PerfMapIndex::read(std::move(source), diagnostics, options));
  if (!self.wrong.empty()) {
    return fail(ErrorKind::damaged, self.wrong, where,
                "make the map anew, or take the line out to use it for any image");
  }
  std::unique_ptr<OfflineMap> map(new OfflineMap());
  map->base_ = base ? base : self.base;
  if (!map->base_ && self.crossgen) map->base_ = OfflineMapBase::rva;
  map->identity_ = std::move(self.identity);
  if (self.guid) map->identity_.guids.push_back(std::move(*self.guid));
  if (auto guid = guid_of_file_name(where)) map->identity_.guids.push_back(std::move(*guid));
  map->index_ = std::move(index);
  return map;
}

std::optional<uint64_t> OfflineMap::key(const ImageMapping& mapping, uint64_t address) const {
  switch (base()) {
    case OfflineMapBase::file:
      if (address < mapping.start) return std::nullopt;
      return checked_add(address - mapping.start, mapping.file_offset);
    case OfflineMapBase::rva:
      if (address < mapping.image_base) return std::nullopt;
      return address - mapping.image_base;
    case OfflineMapBase::absolute:
      break;
  }
  return address;
}

}  // namespace jitscope
