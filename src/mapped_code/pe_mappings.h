// PeMappings: the PE images that a live process runs code of, and where: mapped from their files
// (also from inside a .NET single-file program), or copied by a loader to memory behind the mapped
// header.
//
// Relies on /proc/PID/map_files, which opens the very file that is mapped, whatever its name means
// now. Files are looked into once. Nothing is read from the process. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "code/code_body.h"
#include "formats/bundle/bundle_manifest.h"
#include "formats/pe/pe_image.h"
#include "process/maps.h"
#include "process/process.h"
#include "symbolize/pe/loaded_image.h"
#include "symbolize/pe/pe_file.h"

namespace jitscope {

// A stretch of executable memory that belongs to an image.
struct PePiece {
  uint64_t start = 0;
  uint64_t end = 0;
  // Of `start`: an offset in the file (for a part of a single-file program in the whole file) where
  // it is mapped from there, else the RVA.
  uint64_t at = 0;
  bool from_file = false;

  bool operator==(const PePiece&) const = default;
};

// One image that is mapped; `id` stays the same for as long as the PeMappings.
struct MappedPe {
  uint32_t id = 0;
  std::shared_ptr<const CodeFile> file;
  FilePart part;
  std::string name;  // of the image: a file's or a part's last component
  std::string path;  // of an image in a file of its own, in the root of its process; "" of a part
  PeHeaders headers;

  struct Place {
    uint64_t address = 0;
    std::optional<uint64_t> file_offset;  // in the whole file; nothing: in memory alone
  };
  // Where this byte of the image lies, in any of the pieces.
  [[nodiscard]] std::optional<Place> place_of(uint32_t rva,
                                              const std::vector<PePiece>& pieces) const;
};

struct PeInstance {
  const MappedPe* image = nullptr;
  std::vector<PePiece> pieces;  // by address

  bool operator==(const PeInstance&) const = default;
};

class PeMappings {
 public:
  explicit PeMappings(const Process& process) : process_(process) {}

  // By the mappings' order. An image that is mapped several times is one.
  std::vector<PeInstance> look(const std::vector<Mapping>& maps);

 private:
  using FileKey = std::tuple<uint32_t, uint32_t, uint64_t>;
  struct File {
    std::shared_ptr<const CodeFile> file;  // null: neither PE nor ELF, or not to be opened
    std::unique_ptr<MappedPe> image;
    ImageHost host;
    bool searched = false;
    std::optional<BundleManifest> bundle;
    std::map<uint64_t, std::unique_ptr<MappedPe>> parts;  // by offset; null: no PE image
  };

  // Null: there are too many.
  File* file_of(const Mapping& mapping);
  void open(File& file, const Mapping& mapping);
  static bool is_mapped(const File& file, const Mapping& mapping);
  std::unique_ptr<MappedPe> image_at(const File& file, FilePart part, std::string name);
  std::vector<const MappedPe*> parts_of(File& file, const Mapping& mapping);
  const MappedPe* behind_header(const std::vector<Mapping>& maps, size_t index, uint64_t& rva);

  const Process& process_;
  std::map<FileKey, File> files_;
  uint32_t next_id_ = 0;
};

}  // namespace jitscope
