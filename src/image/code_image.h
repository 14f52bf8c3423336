// CodeImage: an ELF file made of code bodies, with symbols, lines, inlining and unwind tables,
// which tools take as if a compiler had written it (perf, gdb, binutils, LLVM, elfutils,
// debuginfod).
//
// Two layouts:
//  - absolute (ET_EXEC): virtual addresses are those of the process, so that an address out of a
//    profile, gdb or /proc can be asked for as it is; text is packed in the file.
//  - mapped (ET_DYN): virtual address == file offset == `place`, which the caller chose: for files
//    that records of a perf.data map piecewise into a process. With places that keep the distances
//    of the process the file is sparse, and one load address serves all of it (unwinders need
//    that).
//
// Sections: .note.gnu.build-id, .text (one for each stretch of code; stretches are joined where
// there would be more than kMostStretches), .eh_frame_hdr, .eh_frame, .symtab, .strtab,
// .debug_abbrev, .debug_info, .debug_line, .debug_str, .debug_line_str, .debug_ranges or
// .debug_rnglists, .debug_aranges, .shstrtab. PT_LOAD (r-x) for text, (r--) for the rest that is
// mapped, PT_GNU_EH_FRAME, PT_NOTE. A body without bytes has a symbol, in a SHT_NOBITS stretch
// where a whole stretch has none.
//
// Streaming: add() writes the code at once and keeps only what tables need. The build-id is a hash
// of all content. Output is a regular file, written sparse; unfinished files are the caller's to
// remove.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "formats/jitdump/code_scopes.h"
#include "unwind/unwind.h"

namespace jitscope {

struct ImageBody {
  uint64_t address = 0;  // in the process
  uint64_t size = 0;
  uint64_t place = 0;                   // mapped layout only: where it lies in the image
  std::string_view name;                // the symbol: "java.util.HashMap.put"
  std::string_view alias;               // a second symbol, "" for none: with parameters
  std::string_view full_name;           // DW_AT_name of the function; "": the alias, else the name
  std::span<const std::byte> code;      // `size` bytes, or none: not known
  const CodeScopes* scopes = nullptr;   // lines and inlining; null: none
  std::span<const UnwindTable> unwind;  // empty: none
};

struct CodeImageOptions {
  enum class Layout : uint8_t { absolute, mapped };
  Layout layout = Layout::absolute;
  unsigned dwarf = 5;      // 4 or 5
  bool debug_info = true;  // .debug_*
  std::string producer = "jitscope";
  std::string title;          // DW_AT_name of the unit: "java (pid 12)"
  std::string source_folder;  // DW_AT_comp_dir; relative files of CodeScopes are looked up there
};

// The first bytes of an image that no body may have (headers, build-id note) in the mapped layout.
inline constexpr uint64_t kImageHeaderRoom = 4096;

struct ImageSummary {
  std::vector<std::byte> build_id;  // 20 bytes
  uint64_t bodies = 0;
  uint64_t symbols = 0;
  uint64_t with_bytes = 0;
  uint64_t file_bytes = 0;  // apparent size
  // Mapped layout, when there is unwind information: where it lies (place == file offset), so that
  // it can be mapped too: perf reads it through the process's mappings.
  uint64_t unwind_place = 0;
  uint64_t unwind_size = 0;
  uint64_t first_text = 0;  // place of the first executable PT_LOAD, page aligned
};

class CodeImage {
 public:
  // `fd`: a new, empty, regular file, open for reading and writing.
  static Result<CodeImage> create(UniqueFd fd, CodeImageOptions options);
  CodeImage(CodeImage&&) noexcept;
  CodeImage& operator=(CodeImage&&) noexcept;
  ~CodeImage();

  // Bodies may come in any order; they must not overlap in the image (usage error at finish).
  Status add(const ImageBody& body);
  // `unwind_place` (mapped layout): where .eh_frame_hdr and .eh_frame go, page aligned, apart from
  // all bodies; 0: behind everything.
  Result<ImageSummary> finish(uint64_t unwind_place = 0);
  // What finish() will need at unwind_place.
  [[nodiscard]] uint64_t unwind_size() const;

 private:
  struct State;
  explicit CodeImage(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace jitscope
