// See trace_folder.h.
#include "naming/trace_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/perfmap/offline_map.h"

namespace jitscope {
namespace {

constexpr size_t kMostNames = 100'000;

std::optional<uint32_t> pid_in(std::string_view name, std::string_view prefix) {
  constexpr std::string_view ending = ".map";
  if (!name.starts_with(prefix) || !name.ends_with(ending)) return std::nullopt;
  name.remove_prefix(prefix.size());
  if (name.size() <= ending.size()) return std::nullopt;
  name.remove_suffix(ending.size());
  uint32_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return pid;
}

// "System.Linq" of "System.Linq.ni.{026D...}.map" and "System.Linq.ni.r2rmap"; "" of other files.
std::string image_of(std::string_view name) {
  constexpr std::string_view crossgen2 = ".r2rmap";
  constexpr std::string_view native = ".ni";
  if (name.ends_with(crossgen2)) {
    name.remove_suffix(crossgen2.size());
  } else if (name.ends_with(".map") && guid_of_file_name(name)) {
    name = name.substr(0, name.rfind('{'));
    if (name.ends_with('.')) name.remove_suffix(1);
  } else {
    return {};
  }
  if (name.ends_with(native)) name.remove_suffix(native.size());
  // `=` would end the image's name in an option.
  return name.contains('=') ? std::string() : std::string(name);
}

}  // namespace

Status add_trace_folder(const std::string& folder, NamingOptions& options) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (names.size() >= kMostNames) break;
    names.push_back(it->path().filename().string());
  }
  if (error) {
    return fail(ErrorKind::not_found, fmt::format("the folder cannot be read: {}", error.message()),
                folder);
  }
  std::ranges::sort(names);
  size_t found = 0;
  for (const std::string& name : names) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (const auto pid = pid_in(name, "perf-")) {
      options.perf_maps.try_emplace(*pid, path);
    } else if (const auto loads = pid_in(name, "perfinfo-")) {
      options.image_loads.try_emplace(*loads, path);
    } else if (const std::string image = image_of(name); !image.empty()) {
      options.folder_maps.push_back(fmt::format("{}.dll={}", image, path));
    } else {
      continue;
    }
    ++found;
  }
  if (found == 0) {
    return fail(ErrorKind::not_found, "nothing in this folder names code", folder,
                "--map takes FILE=PATH, or a folder with perf-PID.map, perfinfo-PID.map, "
                "NAME.ni.{MVID}.map or NAME.r2rmap");
  }
  return {};
}

}  // namespace jitscope
