// PeFile: names for the code of one PE image, in a file of its own or inside a single-file program:
// ReadyToRun methods, COFF symbols (its own or its split debug file's), exports, and where
// functions begin and end.
//
// The headers are read at once, the rest when the first name is asked for: at most kMostBytes of
// it, kept as long as the object (names of ReadyToRun methods are decoded when they are asked for).
// Strangers made the file: what is in it decides nothing but names. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/open_file.h"
#include "base/result.h"
#include "formats/jitdump/code_scopes.h"
#include "formats/pe/debug_entries.h"
#include "formats/pe/pe_image.h"
#include "formats/pe/pe_symbols.h"
#include "formats/r2r/r2r_image.h"
#include "symbolize/elf_image.h"
#include "symbolize/pe/pe_debug_file.h"

namespace jitscope {

enum class PeNameSource : uint8_t { ready_to_run, symbol, nearest_export, bounds };

struct PeName {
  std::string raw;     // as the runtime or the symbol table has it; "name.dll+0x1450" of bounds
  uint32_t start = 0;  // RVA
  uint32_t size = 0;   // 0: not known
  PeNameSource source = PeNameSource::bounds;
  bool part = false;  // a part of a function that lies apart from its beginning
};

// Where an image lies in a file.
struct FilePart {
  uint64_t offset = 0;
  uint64_t size = 0;
};

class PeFile {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{512} << 20U;

  // `file` is shared by the parts of a single-file program. `name`: what bounds are shown with.
  // `search`: for its debug file, with the first name that it gives. damaged: no PE image.
  static Result<std::unique_ptr<PeFile>> open(std::shared_ptr<const OpenedFile> file, FilePart part,
                                              std::string name, PeDebugSearch search = {});
  ~PeFile();

  [[nodiscard]] const PeHeaders& headers() const { return headers_; }
  [[nodiscard]] const FilePart& part() const { return part_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Whether it was asked for a name.
  [[nodiscard]] bool asked() const { return loaded_; }

  // Nothing: why_not() says why.
  [[nodiscard]] std::optional<PeName> at(uint32_t rva);
  // After at(): empty, or why there are no names but what at() gave: "made of IL alone".
  [[nodiscard]] const std::string& why_not();
  // What it has: "ReadyToRun 9.1, 1,416 methods", "4,598 symbols", "12 exports, 300 functions".
  [[nodiscard]] std::string describe();
  // What would name more of it; empty: nothing is missing, or nothing helps.
  [[nodiscard]] std::string advice();
  // Whether it knows of any function at all.
  [[nodiscard]] bool has_functions();
  // All functions by address, while the visitor is content. Its error, if it has one.
  Status for_each_function(const std::function<Status(PeName)>& visit);
  // A function's bytes; empty when they are not all in the file.
  [[nodiscard]] std::span<const std::byte> code(uint32_t rva, uint32_t size);
  // Lines and inlined functions at an address, innermost first; empty without DWARF.
  [[nodiscard]] std::vector<SourceFrame> source_frames(uint32_t rva,
                                                       const ElfImageOptions& options);
  // The same of a whole function; no ranges: nothing is known.
  [[nodiscard]] CodeScopes scopes(uint32_t rva, uint32_t size, const ElfImageOptions& options);
  // Null: not that kind, or not readable.
  [[nodiscard]] const R2rImage* ready_to_run();
  [[nodiscard]] const PeSymbols* symbols();
  [[nodiscard]] const PeDebugEntries& debug_entries();
  // Where functions begin, by address, each once: ReadyToRun methods, else symbols, exports and
  // functions with unwinding.
  [[nodiscard]] std::vector<uint32_t> function_starts();
  // The image's bytes as they lie in the file; empty when they cannot be read.
  [[nodiscard]] std::span<const std::byte> bytes();

 private:
  PeFile() = default;
  void load();
  // Null: it has none, or none that is to be had.
  PeDebugFile* debug_file();
  // Null: no DWARF. The first one who asks says how names are shown.
  ElfImage* dwarf(const ElfImageOptions& options);

  std::shared_ptr<const OpenedFile> file_;
  FilePart part_;
  std::string name_;
  PeHeaders headers_;
  bool loaded_ = false;
  std::string why_not_;
  std::shared_ptr<std::vector<std::byte>> bytes_;
  R2rKind kind_ = R2rKind::native;
  std::optional<PeImage> image_;
  std::optional<R2rImage> r2r_;
  std::optional<PeSymbols> symbols_;
  std::optional<PeDebugEntries> debug_;
  PeDebugSearch search_;
  bool debug_file_tried_ = false;
  std::unique_ptr<PeDebugFile> debug_file_;
  std::string debug_file_left_;  // why one was left alone
  bool dwarf_tried_ = false;
  std::unique_ptr<ElfImage> dwarf_;  // the image's debug information (pe_debug.h)
};

}  // namespace jitscope
