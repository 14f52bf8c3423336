// What must hold for the tables of any PE image: symbols, exports, functions, unwinding, debug
// entries. Part of pe_check.h. Empty: all is well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/pe/coff_symbols.h"
#include "formats/pe/debug_entries.h"
#include "formats/pe/exports.h"
#include "formats/pe/pe_symbols.h"
#include "formats/pe/runtime_functions.h"
#include "formats/pe/unwind_info.h"

namespace jitscope::fuzz {

// By address, every name there and no longer than the file.
template <typename Table>
std::string_view check_names(const Table& table, const PeImage& image) {
  for (size_t i = 0; i < table.size(); ++i) {
    if (i != 0 && table[i].rva < table[i - 1].rva) return "names out of order";
    if (table[i].name.empty()) return "an empty name";
    if (table[i].name.size() > image.file().size()) return "a name longer than the file";
  }
  return "";
}

inline std::string_view check_functions(const RuntimeFunctions& functions, const PeImage& image) {
  uint32_t end = 0;
  for (const RuntimeFunction& each : functions.all()) {
    if (each.begin < end || each.end <= each.begin) return "functions overlap";
    end = each.end;
    if (functions.at(each.begin) != &each || functions.at(each.end - 1) != &each) {
      return "a function that is not found";
    }
    const auto info = UnwindInfo::parse(image, each.unwind);
    if (info && info->steps.size() > 255) return "more steps than codes";
    const auto first = unwind_steps(image, each.row(), each.begin);
    const auto last = unwind_steps(image, each.row(), each.end - 1);
    if (first.has_value() != last.has_value()) return "unwinding depends on the address";
    if (first && first->size() > last->size()) return "less to undo at the end";
  }
  return "";
}

inline std::string_view check_symbols(const PeSymbols& symbols, const PeImage& image) {
  std::string_view wrong;
  uint64_t end = 0;
  symbols.for_each([&](const PeSymbol& each) {
    if (each.start < end || each.size == 0) wrong = "symbols overlap";
    end = uint64_t{each.start} + each.size;
    if (end > uint64_t{UINT32_MAX} + 1) wrong = "a symbol beyond all addresses";
    if (each.name.empty() != (each.kind == PeNameKind::bounds)) wrong = "a name of no kind";
    const PeSection* section = image.headers().section_at(each.start);
    if (section == nullptr || !section->executable()) wrong = "a symbol of no code";
    for (const uint32_t rva : {each.start, each.start + each.size - 1}) {
      const auto found = symbols.at(rva);
      if (!found || found->start != each.start || found->name != each.name) {
        wrong = "a symbol that is not found";
      }
    }
  });
  if (end != 0 && symbols.at(static_cast<uint32_t>(end))) {
    const auto behind = symbols.at(static_cast<uint32_t>(end));
    if (end <= UINT32_MAX && behind->start < end) wrong = "a symbol beyond its end";
  }
  return wrong;
}

inline std::string_view check_pe_tables(const PeImage& image) {
  if (const auto symbols = CoffSymbols::parse(image)) {
    if (const auto wrong = check_names(*symbols, image); !wrong.empty()) return wrong;
    if (symbols->size() * 18 > image.file().size()) return "more symbols than records";
  } else if (symbols.error().kind != ErrorKind::damaged) {
    return "an unexpected error of symbols";
  }
  if (const auto exports = PeExports::parse(image)) {
    if (const auto wrong = check_names(*exports, image); !wrong.empty()) return wrong;
  } else if (exports.error().kind != ErrorKind::damaged) {
    return "an unexpected error of exports";
  }
  if (const auto functions = RuntimeFunctions::parse(image)) {
    if (const auto wrong = check_functions(*functions, image); !wrong.empty()) return wrong;
  } else if (functions.error().kind != ErrorKind::damaged) {
    return "an unexpected error of functions";
  }
  const PeDebugEntries entries = PeDebugEntries::parse(image);
  if (entries.debug_link && entries.debug_link->name.empty()) return "a link to nothing";
  return check_symbols(PeSymbols::of(image), image);
}

}  // namespace jitscope::fuzz
