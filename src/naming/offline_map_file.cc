// See offline_map_file.h.
#include "naming/offline_map_file.h"

#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

#include "base/open_file.h"
#include "formats/perfmap/perf_map_line.h"
#include "symbolize/elf_image.h"

namespace jitscope {
namespace {

// Whether a line near its beginning is a map's.
bool looks_like_map(const std::string& path) {
  const auto file = open_regular_file(path);
  if (!file) return false;
  std::array<char, 4096> bytes{};
  const ssize_t got = ::pread(file->fd.get(), bytes.data(), bytes.size(), 0);
  if (got <= 0) return false;
  std::string_view text(bytes.data(), static_cast<size_t>(got));
  if (text.contains('\0')) return false;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    PerfMapFields fields;
    if (parse_perf_map_line(line, fields) == PerfMapFault::none) return true;
  }
  return false;
}

bool is_image(FileFormat format) {
  return format == FileFormat::elf || format == FileFormat::pe || format == FileFormat::jitdump;
}

// Says of two words which one is the map; true: the first.
Result<bool> first_is_map(const std::string& first, const std::string& second) {
  const FileFormat format = probe_file(second).format;
  if (format == FileFormat::other) return !looks_like_map(second) && looks_like_map(first);
  if (is_image(format) && !is_image(probe_file(first).format)) return true;
  if (is_image(format)) {
    return fail(ErrorKind::usage, "--map needs a map, and this is none", second);
  }
  // An image that is not to be found under this name: a base name, a part of a single-file program.
  const bool name = !second.contains('/') || second.contains('!');
  if (name && looks_like_map(first)) return true;
  return false;
}

}  // namespace

Result<OfflineMapFile> open_offline_map(const std::string& text) {
  OfflineMapFile out;
  JITSCOPE_ASSIGN(out.option, parse_offline_map_option(text));
  OfflineMapOption& option = out.option;
  const auto explained = [&](Error error) {
    if (error.hint.empty()) {
      error.hint = "--map FILE=PATH: FILE is the image, PATH its map; here --map " + text;
    }
    return fail(std::move(error));
  };
  const auto first = first_is_map(option.file, option.image);
  if (!first) return explained(first.error());
  if (!*first) std::swap(option.file, option.image);
  // A FIFO would be waited for.
  if (auto regular = open_regular_file(option.file); !regular) return explained(regular.error());
  auto source = open_byte_source(option.file);
  if (!source) return explained(std::move(source.error()));
  Diagnostics diagnostics;
  JITSCOPE_ASSIGN(out.map, OfflineMap::read(std::move(*source), option.base, diagnostics));
  return out;
}

}  // namespace jitscope
