// See pe_debug_file.h.
#include "symbolize/pe/pe_debug_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/open_file.h"
#include "symbolize/debug_files.h"
#include "symbolize/pe/read_part.h"

namespace jitscope {
namespace {

// It is read as a whole.
constexpr uint64_t kMostDebugBytes = uint64_t{512} << 20U;

// Whether code lies where it does in the image.
bool describes(const PeHeaders& debug, const PeHeaders& image) {
  if (debug.machine != image.machine || debug.image_base != image.image_base) return false;
  return std::ranges::all_of(image.sections, [&](const PeSection& each) {
    return !each.executable() || std::ranges::any_of(debug.sections, [&](const PeSection& other) {
      return other.executable() && other.rva == each.rva && other.size == each.size;
    });
  });
}

}  // namespace

std::unique_ptr<PeDebugFile> find_pe_debug_file(const PeImage& image,
                                                const PeDebugEntries::DebugLink& link,
                                                const PeDebugSearch& search, std::string& left) {
  if (search.path.empty()) return nullptr;
  for (std::string& path : debug_link_paths(search.path, link.name, search.options)) {
    const auto file = open_regular_file(path, search.options.root);
    if (!file) continue;
    if (const std::string why = why_too_large(file->status, kMostDebugBytes); !why.empty()) {
      left = fmt::format("its debug file {} {}", path, why);
      continue;
    }
    auto found = std::make_unique<PeDebugFile>();
    found->bytes.resize(static_cast<size_t>(file->status.st_size));
    found->bytes.resize(read_part(file->fd.get(), 0, found->bytes));
    const auto sum = debug_link_checksum(found->bytes);
    if (!sum) {
      left = fmt::format("no time was left to check its debug file {}", path);
      return nullptr;
    }
    if (*sum != link.crc) {
      left = fmt::format("{} is not its debug file: another checksum", path);
      continue;
    }
    auto parsed = PeImage::parse(found->bytes);
    if (!parsed || !describes(parsed->headers(), image.headers())) {
      left = fmt::format("{} is not its debug file: {}", path,
                         parsed ? "its code lies elsewhere" : "no PE image");
      continue;
    }
    found->image = std::move(*parsed);
    found->path = std::move(path);
    left.clear();
    return found;
  }
  return nullptr;
}

}  // namespace jitscope
