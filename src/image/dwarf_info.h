// DebugSections: the .debug_* sections of an image: a subprogram for each body, the inlined calls
// inside it, and the line table. DWARF 4 or 5. Entries are encoded as bodies come.
//
// A few hundred bodies make a unit, as a compiler's source file would: readers take units whole,
// and some of them walk through all of a unit's code again and again.
//
// A method that was inlined in a unit has one abstract subprogram there for each of its files,
// before the first body that needs it; a body's own subprogram is whole by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/pair_table.h"
#include "base/result.h"
#include "formats/jitdump/code_scopes.h"
#include "image/byte_writer.h"
#include "image/dwarf_inline.h"
#include "image/dwarf_lines.h"
#include "image/dwarf_strings.h"

namespace jitscope {

// What a file that nobody knows is called where a line of it is known.
inline constexpr std::string_view kUnknownFile = "<unknown>";

class DebugSections {
 public:
  struct Unit {
    unsigned version = 5;
    std::string producer;
    std::string title;
    std::string folder;  // of relative files; "": where the reader is
  };
  struct Section {
    std::string_view name;
    std::span<const std::byte> bytes;
    bool strings = false;
  };

  explicit DebugSections(Unit unit);

  // A body in the image at `begin`. Errors: not_possible when a section would pass 4 GiB.
  Status add(uint64_t begin, uint64_t size, std::string_view name, const CodeScopes* scopes);
  // Bodies must not lie on each other. The bytes stay with this object.
  Result<std::vector<Section>> finish();

 private:
  struct Code {
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  void subprogram(uint64_t begin, uint64_t size, uint32_t name, const CodeScopes& scopes);
  void inlined(uint64_t begin, const CodeScopes& scopes, const InlineTree::Node& node);
  void calls(uint64_t begin, const CodeScopes& scopes);
  void lines(uint64_t begin, const CodeScopes& scopes);
  void first_line(uint64_t begin, const CodeScopes& scopes);
  uint32_t file_of(const CodeScopes& scopes, uint32_t method);
  uint32_t abstract_of(const CodeScopes& scopes, uint32_t method);
  uint64_t ranges_of(uint64_t begin, const InlineTree::Node& node);
  void end_unit();
  uint64_t unit_ranges();
  void unit_aranges(uint64_t info);
  void make_abbreviations();
  [[nodiscard]] bool too_large() const;

  Unit unit_;
  uint32_t producer_ = 0;  // offsets in strings_
  uint32_t title_ = 0;
  uint32_t folder_ = 0;
  ByteWriter info_;
  ByteWriter ranges_;
  ByteWriter aranges_;
  ByteWriter abbreviations_;
  StringSection strings_;
  LineSection lines_;

  // Of the unit at hand.
  std::vector<Code> code_;
  ByteWriter entries_;
  uint32_t first_entry_ = 0;  // offset in the unit of what entries_ holds
  PairTable abstracts_;       // (name, file) -> offset of the entry in the unit

  InlineTree tree_;
  std::vector<uint32_t> files_;    // of the methods of the body at hand, as far as asked for
  std::vector<uint32_t> origins_;  // likewise
};

}  // namespace jitscope
