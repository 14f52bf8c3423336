// Offline maps: names for a mapped file that is no ELF, made beforehand from the file itself, in
// the format of a perf map; and the option that gives one: `--map
// FILE=PATH[:base=file|rva|absolute]`.
//
// One of FILE and PATH is the map, the other the image as it is mapped, its base name alone, or for
// a part of a .NET single-file program HOST!ENTRY or the entry's base name; which is which only
// their files tell (naming/offline_map_file.h). The base says what the map's addresses are: offsets
// in the image file (the default), offsets from where the image's first byte is mapped (RVAs), or
// addresses of the process. Without a base in the option the map's own word counts (`# base: rva`,
// or the header of a crossgen2 .r2rmap, which has RVAs).
//
// A map may say which image it was made from, in lines anywhere in it:
//   # build-id: 6f3c...       the image's build-id, hexadecimal
//   # size: 4096              the image file's size in bytes, decimal or 0x
//   # time-stamp: 0x5f3c0d12  of a PE image's header, decimal or 0x
//   # guid: 026D4D21-B3EE-3D93-843F-F7A964235822   MVID or CodeView signature; dashes, braces and
//                             case do not count
// A crossgen2 .r2rmap says in lines of size 0 its signature (`FFFFFFFF 00 026D...`), its version,
// and for which operating system, architecture and ABI it was made. Maps of crossgen before that
// have the image's MVID in their name (`Core.ni.{026D4D21-...}.map`), which counts as a guid. Other
// lines that begin with '#' are comments. An identity that cannot be read, or two that differ, are
// errors: such a map cannot be trusted for any image. No system calls.
//
// Format of .r2rmap: dotnet/runtime's docs/design/coreclr/botr/r2r-perfmap-format.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/diagnostics.h"
#include "base/result.h"
#include "formats/perfmap/perf_map_index.h"

namespace jitscope {

enum class OfflineMapBase : uint8_t { file, rva, absolute };
[[nodiscard]] std::string_view to_string(OfflineMapBase base);

struct OfflineMapOption {
  std::string file;
  std::string image;
  std::optional<OfflineMapBase> base;

  // Whether the image is this mapped file; " (deleted)" behind the path does not count.
  [[nodiscard]] bool names(std::string_view mapped_path) const;
  // Whether it is this part of that single-file program.
  [[nodiscard]] bool names_part(std::string_view host, std::string_view entry) const;
};
// The text behind --map. FILE ends at the first '='. Errors: usage.
Result<OfflineMapOption> parse_offline_map_option(std::string_view text);

// What is known of an image, or what a map says of it.
struct MappedImageIdentity {
  std::optional<std::string> build_id = {};  // lower case hexadecimal
  // As normal_guid() gives them. An image may have several (MVID, CodeView), and must have all that
  // the map says.
  std::vector<std::string> guids = {};
  // Of the .r2rmap that belongs to it; also counts among the image's guids.
  std::optional<std::string> signature = {};
  std::optional<uint64_t> size = {};
  std::optional<uint64_t> time_stamp = {};  // of a PE image's header
  // "Linux", "X64", "Default"; as a map has them where these values are not known.
  std::optional<std::string> system = {};
  std::optional<std::string> architecture = {};
  std::optional<std::string> abi = {};
};
// 32 lower case hexadecimal digits, nothing when the text is no GUID.
[[nodiscard]] std::optional<std::string> normal_guid(std::string_view text);
// The one in braces in a file's name: "Core.ni.{026D4D21-...}.map".
[[nodiscard]] std::optional<std::string> guid_of_file_name(std::string_view path);
// Why they are not the same image: "made for build-id 6f3c, the image has 77aa"; nothing where they
// agree in all that both know (which may be nothing at all: see agrees_in_something).
[[nodiscard]] std::optional<std::string> identity_conflict(const MappedImageIdentity& map,
                                                           const MappedImageIdentity& image);
[[nodiscard]] bool agrees_in_something(const MappedImageIdentity& map,
                                       const MappedImageIdentity& image);

// Where an image is mapped.
struct ImageMapping {
  uint64_t start = 0;        // of this mapping
  uint64_t file_offset = 0;  // of `start` in the file
  uint64_t image_base = 0;   // where the image's first byte is, or would be, mapped
};

class OfflineMap {
 public:
  // `base` as in the option. `source` must be seekable and is kept; its name may have a guid.
  static Result<std::unique_ptr<OfflineMap>> read(std::unique_ptr<ByteSource> source,
                                                  std::optional<OfflineMapBase> base,
                                                  Diagnostics& diagnostics);

  [[nodiscard]] OfflineMapBase base() const { return base_.value_or(OfflineMapBase::file); }
  // The option, the map's header or a line of it says so.
  [[nodiscard]] bool base_is_declared() const { return base_.has_value(); }
  [[nodiscard]] const MappedImageIdentity& identity() const { return identity_; }
  // An address of the process as the map counts; nothing when it lies before the mapping.
  [[nodiscard]] std::optional<uint64_t> key(const ImageMapping& mapping, uint64_t address) const;
  // Calls `function` with the addresses at which lines begin, by address, each once, while it
  // returns true.
  template <typename Function>
  void for_each_start(Function&& function) const {
    if (index_->line_at(0) && !function(uint64_t{0})) return;
    for (auto next = index_->next_start(0); next; next = index_->next_start(*next)) {
      if (!function(*next)) return;
    }
  }
  // By file offset, RVA or address, as base() says.
  [[nodiscard]] PerfMapIndex::Answer at(uint64_t key) const { return index_->at(key); }
  [[nodiscard]] const PerfMapIndex& index() const { return *index_; }

 private:
  OfflineMap() = default;

  std::optional<OfflineMapBase> base_;
  MappedImageIdentity identity_;
  std::unique_ptr<PerfMapIndex> index_;
};

}  // namespace jitscope
