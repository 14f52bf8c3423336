// ElfImage: names for the code of one ELF file, as a profile needs them: by file offset, fast, and
// only when it is the file that ran.
//
// Symbols: .symtab, .dynsym, .gnu_debugdata (MiniDebugInfo, xz), a separate debug file (by build-id
// under the debug directories, by .gnu_debuglink with its CRC, by debuginfod when asked), PLT
// entries as name@plt. Of several symbols at one address the choice is that of perf
// (tools/perf/util/symbol.c, choose_best_symbol: a size, not weak, global, fewer leading
// underscores, the longer name); a symbol without a size ends at the next one. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/jitdump/code_scopes.h"

namespace jitscope {

using BuildIdBytes = std::vector<std::byte>;
[[nodiscard]] std::string build_id_text(std::span<const std::byte> id);

struct ElfImageOptions {
  // Files below this directory instead of "/" ("/proc/12/root", a copied file system); "" = "/".
  std::string root;
  std::vector<std::string> debug_directories = {"/usr/lib/debug"};
  bool debuginfod = false;  // ask DEBUGINFOD_URLS
  bool demangle = true;
};

struct SymbolHit {
  std::string_view name;  // demangled when asked for; valid as long as the image
  std::string_view raw;   // as in the symbol table
  uint64_t start = 0;     // virtual address in the file's own terms
  uint64_t size = 0;
  bool code = true;  // false: an object in data, where no code can be (perf names such frames too)
};
struct SourceFrame {
  std::string function;  // of an inlined copy, innermost first; the last is the outer function
  std::string file;
  uint32_t line = 0;
};

// What the file is, told from its first bytes.
enum class FileFormat : uint8_t { elf, pe, jitdump, other, unreadable };
struct FileProbe {
  FileFormat format = FileFormat::unreadable;
  std::string why;  // when unreadable: "No such file or directory"
};
// Opens `path` inside `root` without following into FIFOs or devices, reads a few bytes.
[[nodiscard]] FileProbe probe_file(const std::string& path, const std::string& root = {});

class ElfImage {
 public:
  // Opens `path` inside options.root. When `expected` is not empty and the file has another
  // build-id (or none), the file is refused (damaged: "has build-id X, the recording's is Y")
  // unless the right file is found by build-id in a debug directory, ~/.debug or by debuginfod.
  // not_found: no such file (nor one by its build-id). damaged: no ELF.
  static Result<std::unique_ptr<ElfImage>> open(const std::string& path,
                                                std::span<const std::byte> expected,
                                                const ElfImageOptions& options = {});
  // An ELF image in memory (a vdso).
  static Result<std::unique_ptr<ElfImage>> from_memory(std::vector<std::byte> bytes,
                                                       std::string where,
                                                       const ElfImageOptions& options = {});
  ~ElfImage();
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;

  // The virtual address (as in the program headers) of a file offset in a loaded segment.
  [[nodiscard]] std::optional<uint64_t> address_of_offset(uint64_t file_offset) const;
  [[nodiscard]] std::optional<SymbolHit> symbol_at(uint64_t address) const;
  // Narrows [low, high] around a file offset in a loaded segment to where both of the above answer
  // alike: addresses in step with offsets, and the same symbol or none.
  void narrow(uint64_t file_offset, uint64_t& low, uint64_t& high) const;
  // Lines and inlined functions from DWARF, innermost first; empty without debug information.
  [[nodiscard]] std::vector<SourceFrame> source_frames(uint64_t address) const;
  // The same of all code in [begin, end), as far as it is known.
  [[nodiscard]] CodeScopes scopes(uint64_t begin, uint64_t end) const;

  [[nodiscard]] const BuildIdBytes& build_id() const;
  [[nodiscard]] bool has_symbols() const;   // any function symbol at all
  [[nodiscard]] bool only_dynamic() const;  // stripped: only exported symbols
  // Why something that would have named more was not used: "its debug file X is 8.0 TiB large,
  // ...";
  // "" when nothing was.
  [[nodiscard]] const std::string& left_out() const;
  // Where the symbols came from: the file itself, or the debug file's path.
  [[nodiscard]] const std::string& symbol_file() const;

 private:
  struct State;
  explicit ElfImage(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace jitscope
