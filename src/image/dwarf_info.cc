#include "image/dwarf_info.h"

#include <dwarf.h>

#include <algorithm>

namespace jitscope {
namespace {

// Numbers of abbreviations. Each kind of entry has one for every choice of what it may have.
constexpr uint64_t kUnitEntry = 1;
constexpr uint64_t kAbstract = 2;
constexpr uint64_t kAbstractInFile = 3;
constexpr uint64_t kSubprogram = 4;  // + kWithChildren, + kInFile
constexpr uint64_t kInlined = 8;     // + kWithChildren, + kInPieces, + kCalledAt
constexpr uint64_t kWithChildren = 1;
constexpr uint64_t kInFile = 2;
constexpr uint64_t kInPieces = 2;
constexpr uint64_t kCalledAt = 4;

// Readers keep lines in an int.
constexpr uint32_t kMostLine = INT32_MAX;
constexpr uint64_t kMostSection = 0xf000'0000;
// A unit ends behind the body that passes one of these.
constexpr size_t kUnitBodies = 256;
constexpr size_t kUnitBytes = 256U << 10U;

uint32_t line_of(const CodeScopes::Scope& scope) {
  return scope.line > kMostLine ? 0 : scope.line;
}

std::string_view or_unknown(std::string_view text, std::string_view unknown) {
  return text.empty() ? unknown : text;
}

}  // namespace

DebugSections::DebugSections(Unit unit) : unit_(std::move(unit)), lines_(unit_.version) {
  const bool five = unit_.version >= 5;
  // With no folder at all elfutils would make relative files absolute ones.
  if (unit_.folder.empty()) unit_.folder = ".";
  // gdb 13 dies of a unit whose name is empty.
  if (unit_.title.empty()) unit_.title = "code image";
  // The header and the unit's own entry, which end_unit() writes.
  first_entry_ = (five ? 12U : 11U) + 1 + 4 + 2 + 4 + 4 + 4 + 8 + 4;
  if (five) {
    ranges_.u32(0);  // the length, at the end
    ranges_.u16(5);
    ranges_.u8(8);   // bytes of an address
    ranges_.u8(0);   // of a segment
    ranges_.u32(0);  // no table of offsets
  }
  producer_ = strings_.add(unit_.producer);
  title_ = strings_.add(unit_.title);
  folder_ = strings_.add(unit_.folder);
}

bool DebugSections::too_large() const {
  return strings_.too_large() || lines_.too_large() ||
         info_.size() + entries_.size() > kMostSection || ranges_.size() > kMostSection ||
         aranges_.size() > kMostSection;
}

Status DebugSections::add(uint64_t begin, uint64_t size, std::string_view name,
                          const CodeScopes* scopes) {
  static const CodeScopes nothing;
  if (scopes == nullptr) scopes = &nothing;
  files_.assign(scopes->methods.size(), PairTable::kNone);
  origins_.assign(scopes->methods.size(), PairTable::kNone);
  tree_.build(*scopes, size);
  subprogram(begin, size, strings_.add(name), *scopes);
  lines(begin, *scopes);
  code_.push_back({begin, begin + size});
  if (code_.size() >= kUnitBodies || entries_.size() >= kUnitBytes) end_unit();
  if (too_large()) {
    return fail(ErrorKind::not_possible, "the debug information of the image exceeds 4 GiB", {},
                "write fewer bodies into one image, or leave the debug information out");
  }
  return {};
}

uint32_t DebugSections::file_of(const CodeScopes& scopes, uint32_t method) {
  uint32_t& number = files_[method];
  if (number == PairTable::kNone) {
    number = lines_.file(or_unknown(scopes.methods[method].file, kUnknownFile));
  }
  return number;
}

uint32_t DebugSections::abstract_of(const CodeScopes& scopes, uint32_t method) {
  uint32_t& origin = origins_[method];
  if (origin != PairTable::kNone) return origin;
  const CodeScopes::Method& known = scopes.methods[method];
  const uint32_t name = strings_.add(or_unknown(known.name, "?"));
  const uint32_t file = known.file.empty() ? 0 : file_of(scopes, method);
  uint32_t& at = abstracts_(name, file);
  if (at == PairTable::kNone) {
    at = static_cast<uint32_t>(first_entry_ + entries_.size());
    entries_.uleb(file == 0 ? kAbstract : kAbstractInFile);
    entries_.u32(name);
    if (file != 0) entries_.uleb(file);
    entries_.u8(DW_INL_inlined);
  }
  origin = at;
  return origin;
}

void DebugSections::subprogram(uint64_t begin, uint64_t size, uint32_t name,
                               const CodeScopes& scopes) {
  // Abstract entries are the unit's children: they must stand before the body's own begins.
  for (const InlineTree::Node& node : tree_.nodes().subspan(1)) {
    if (node.first_span != InlineTree::kNone) abstract_of(scopes, node.method);
  }
  const bool children = tree_.nodes()[0].first_child != InlineTree::kNone;
  const bool in_file = !scopes.methods.empty() && !scopes.methods[0].file.empty();
  entries_.uleb(kSubprogram + (children ? kWithChildren : 0) + (in_file ? kInFile : 0));
  entries_.u32(name);
  entries_.u64(begin);
  entries_.uleb(size);
  if (in_file) entries_.uleb(file_of(scopes, 0));
  if (children) calls(begin, scopes);
}

// The entries below the body's own, each list of children ended by a zero.
void DebugSections::calls(uint64_t begin, const CodeScopes& scopes) {
  const auto nodes = tree_.nodes();
  uint32_t at = nodes[0].first_child;
  while (true) {
    const InlineTree::Node& node = nodes[at];
    inlined(begin, scopes, node);
    if (node.first_child != InlineTree::kNone) {
      at = node.first_child;
      continue;
    }
    while (at != 0 && nodes[at].next_sibling == InlineTree::kNone) {
      entries_.u8(0);
      at = nodes[at].parent;
    }
    if (at == 0) return;
    at = nodes[at].next_sibling;
  }
}

void DebugSections::inlined(uint64_t begin, const CodeScopes& scopes,
                            const InlineTree::Node& node) {
  const bool pieces = node.spans > 1;
  const uint32_t line = node.call_line > kMostLine ? 0 : node.call_line;
  const bool called_at = line != 0 || !scopes.methods[node.call_method].file.empty();
  entries_.uleb(kInlined + (node.first_child != InlineTree::kNone ? kWithChildren : 0) +
                (pieces ? kInPieces : 0) + (called_at ? kCalledAt : 0));
  entries_.u32(abstract_of(scopes, node.method));
  if (pieces) {
    entries_.u32(ranges_of(begin, node));
  } else {
    const InlineTree::Span& span = tree_.code(node.first_span);
    entries_.u64(begin + span.begin);
    entries_.uleb(span.end - span.begin);
  }
  if (called_at) {
    entries_.uleb(file_of(scopes, node.call_method));
    entries_.uleb(line);
  }
}

uint64_t DebugSections::ranges_of(uint64_t begin, const InlineTree::Node& node) {
  const uint64_t at = ranges_.size();
  const bool five = unit_.version >= 5;
  if (five) {
    ranges_.u8(DW_RLE_base_address);
    ranges_.u64(begin);
  }
  for (uint32_t i = node.first_span; i != InlineTree::kNone; i = tree_.code(i).next) {
    const InlineTree::Span& span = tree_.code(i);
    if (five) {
      ranges_.u8(DW_RLE_offset_pair);
      ranges_.uleb(span.begin);
      ranges_.uleb(span.end);
    } else {
      ranges_.u64(begin + span.begin);
      ranges_.u64(begin + span.end);
    }
  }
  if (five) {
    ranges_.u8(DW_RLE_end_of_list);
  } else {
    ranges_.zeros(16);
  }
  return at;
}

// The start of a body has the line of its own method that comes first, so that a breakpoint on its
// name, or a look at its symbol, finds the file.
void DebugSections::first_line(uint64_t begin, const CodeScopes& scopes) {
  const auto pieces = tree_.pieces();
  const InlineTree::Piece& first = pieces.front();
  uint32_t end = first.begin;
  if (first.begin == 0) {
    const CodeScopes::Scope& scope = scopes.scopes[first.scope];
    if (line_of(scope) != 0 || scope.parent != CodeScopes::kNone) return;
    end = first.end;
  }
  for (const InlineTree::Piece& piece : pieces) {
    const CodeScopes::Scope& own = scopes.scopes[tree_.outermost(piece.scope)];
    if (line_of(own) == 0) continue;
    lines_.add(begin, begin + end, file_of(scopes, own.method), line_of(own));
    return;
  }
}

void DebugSections::lines(uint64_t begin, const CodeScopes& scopes) {
  const auto pieces = tree_.pieces();
  if (pieces.empty()) return;
  first_line(begin, scopes);
  for (const InlineTree::Piece& piece : pieces) {
    const CodeScopes::Scope& scope = scopes.scopes[piece.scope];
    if (line_of(scope) == 0) continue;
    lines_.add(begin + piece.begin, begin + piece.end, file_of(scopes, scope.method),
               line_of(scope));
  }
  lines_.end_sequence();
}

uint64_t DebugSections::unit_ranges() {
  const uint64_t at = ranges_.size();
  const bool five = unit_.version >= 5;
  // Differences stay short when the base moves along.
  constexpr uint64_t far = 1U << 21U;
  uint64_t base = 0;
  bool based = false;
  for (const Code& piece : code_) {
    if (!five) {
      ranges_.u64(piece.begin);
      ranges_.u64(piece.end);
      continue;
    }
    if (!based || piece.end - base >= far) {
      base = piece.begin;
      based = true;
      ranges_.u8(DW_RLE_base_address);
      ranges_.u64(base);
    }
    ranges_.u8(DW_RLE_offset_pair);
    ranges_.uleb(piece.begin - base);
    ranges_.uleb(piece.end - base);
  }
  if (five) {
    ranges_.u8(DW_RLE_end_of_list);
  } else {
    ranges_.zeros(16);
  }
  return at;
}

// elfutils finds the unit of an address by this table only.
void DebugSections::unit_aranges(uint64_t info) {
  ByteWriter& out = aranges_;
  const size_t begin = out.size();
  out.u32(0);
  out.u16(2);  // version
  out.u32(info);
  out.u8(8);  // bytes of an address
  out.u8(0);  // of a segment
  out.zeros((16 - (out.size() - begin) % 16) % 16);
  for (const Code& piece : code_) {
    out.u64(piece.begin);
    out.u64(piece.end - piece.begin);
  }
  out.zeros(16);
  out.patch_u32(begin, out.size() - begin - 4);
}

void DebugSections::end_unit() {
  if (code_.empty()) return;
  std::ranges::sort(code_, {}, &Code::begin);
  size_t kept = 0;
  for (const Code& piece : std::span(code_).subspan(1)) {
    if (piece.begin == code_[kept].end) {
      code_[kept].end = piece.end;
    } else {
      code_[++kept] = piece;
    }
  }
  code_.resize(kept + 1);

  const size_t begin = info_.size();
  info_.u32(0);
  info_.u16(unit_.version);
  if (unit_.version >= 5) {
    info_.u8(DW_UT_compile);
    info_.u8(8);   // bytes of an address
    info_.u32(0);  // abbreviations
  } else {
    info_.u32(0);
    info_.u8(8);
  }
  info_.uleb(kUnitEntry);
  info_.u32(producer_);
  info_.u16(DW_LANG_Mips_Assembler);
  info_.u32(title_);
  info_.u32(folder_);
  info_.u32(lines_.end_unit(unit_.folder, unit_.title));
  info_.u64(0);  // what ranges count from
  info_.u32(unit_ranges());
  info_.raw(entries_.bytes());
  info_.u8(0);  // no more children of the unit
  info_.patch_u32(begin, info_.size() - begin - 4);
  unit_aranges(begin);
  entries_.clear();
  code_.clear();
  abstracts_ = {};
}

void DebugSections::make_abbreviations() {
  ByteWriter& out = abbreviations_;
  struct Field {
    unsigned name;
    unsigned form;
    bool there = true;
  };
  const auto entry = [&](uint64_t number, unsigned tag, bool children,
                         std::initializer_list<Field> fields) {
    out.uleb(number);
    out.uleb(tag);
    out.u8(children ? DW_CHILDREN_yes : DW_CHILDREN_no);
    for (const Field& field : fields) {
      if (!field.there) continue;
      out.uleb(field.name);
      out.uleb(field.form);
    }
    out.u16(0);
  };
  // The language: one whose names no tool takes apart. Without it binutils would show the symbol
  // instead of the function that was inlined.
  entry(kUnitEntry, DW_TAG_compile_unit, true,
        {{DW_AT_producer, DW_FORM_strp},
         {DW_AT_language, DW_FORM_data2},
         {DW_AT_name, DW_FORM_strp},
         {DW_AT_comp_dir, DW_FORM_strp},
         {DW_AT_stmt_list, DW_FORM_sec_offset},
         {DW_AT_low_pc, DW_FORM_addr},
         {DW_AT_ranges, DW_FORM_sec_offset}});
  for (const bool in_file : {false, true}) {
    entry(in_file ? kAbstractInFile : kAbstract, DW_TAG_subprogram, false,
          {{DW_AT_name, DW_FORM_strp},
           {DW_AT_decl_file, DW_FORM_udata, in_file},
           {DW_AT_inline, DW_FORM_data1},
           {DW_AT_external, DW_FORM_flag_present}});
  }
  for (uint64_t i = 0; i < 4; ++i) {
    entry(kSubprogram + i, DW_TAG_subprogram, (i & kWithChildren) != 0,
          {{DW_AT_name, DW_FORM_strp},
           {DW_AT_low_pc, DW_FORM_addr},
           {DW_AT_high_pc, DW_FORM_udata},
           {DW_AT_decl_file, DW_FORM_udata, (i & kInFile) != 0},
           {DW_AT_external, DW_FORM_flag_present}});
  }
  for (uint64_t i = 0; i < 8; ++i) {
    const bool pieces = (i & kInPieces) != 0;
    const bool called_at = (i & kCalledAt) != 0;
    entry(kInlined + i, DW_TAG_inlined_subroutine, (i & kWithChildren) != 0,
          {{DW_AT_abstract_origin, DW_FORM_ref4},
           {DW_AT_ranges, DW_FORM_sec_offset, pieces},
           {DW_AT_low_pc, DW_FORM_addr, !pieces},
           {DW_AT_high_pc, DW_FORM_udata, !pieces},
           {DW_AT_call_file, DW_FORM_udata, called_at},
           {DW_AT_call_line, DW_FORM_udata, called_at}});
  }
  out.u8(0);
}

Result<std::vector<DebugSections::Section>> DebugSections::finish() {
  end_unit();
  make_abbreviations();
  if (unit_.version >= 5) ranges_.patch_u32(0, ranges_.size() - 4);
  std::vector<Section> made = {
      {".debug_aranges", aranges_.bytes()},      {".debug_info", info_.bytes()},
      {".debug_abbrev", abbreviations_.bytes()}, {".debug_line", lines_.lines()},
      {".debug_str", strings_.bytes(), true},
  };
  if (unit_.version >= 5) {
    made.push_back({".debug_line_str", lines_.strings(), true});
    made.push_back({".debug_rnglists", ranges_.bytes()});
  } else {
    made.push_back({".debug_ranges", ranges_.bytes()});
  }
  for (const Section& section : made) {
    if (section.bytes.size() > UINT32_MAX - 16) {
      return fail(ErrorKind::not_possible,
                  std::string(section.name) + " of the image exceeds 4 GiB", {},
                  "write fewer bodies into one image, or leave the debug information out");
    }
  }
  return made;
}

}  // namespace jitscope
