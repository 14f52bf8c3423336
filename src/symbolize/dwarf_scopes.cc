// DwarfFrames::scopes(): lines and inlined functions of a stretch of code at once. It is cut where
// a row of the line table begins or a copy of an inlined function begins or ends; each cut belongs
// to the innermost copy around it.
#include "symbolize/dwarf_scopes.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "symbolize/dwarf_entries.h"
#include "symbolize/dwarf_frames.h"

namespace jitscope {
namespace {

constexpr size_t most_copies = size_t{1} << 16;  // in one function
constexpr size_t most_copy_ranges = size_t{1} << 20;
constexpr size_t deepest_entry = 1024;
// The tables of a unit are read whole by libdw, with many bytes for one.
constexpr uint64_t largest_line_section = uint64_t{64} << 20U;

bool is_absolute(const std::string& file) {
  return !file.empty() &&
         (file[0] == '/' || file[0] == '\\' || (file.size() > 1 && file[1] == ':'));
}

// Where the unit was compiled; empty: not known, or only as a relative path.
std::string folder_of(Dwarf_Die& unit) {
  Dwarf_Attribute attribute;
  if (dwarf_attr(&unit, DW_AT_comp_dir, &attribute) == nullptr) return {};
  std::string folder = dwarf_text(dwarf_formstring(&attribute));
  return is_absolute(folder) ? folder : std::string();
}

// libdw takes the folder of DWARF 5 from the line table, where it may be ".". Files that stay
// relative are looked for in the folder of whoever reads them: "./" says no more.
std::string file_in(const std::string& folder, const char* name) {
  std::string file = dwarf_text(name);
  if (file.empty() || is_absolute(file)) return file;
  if (!folder.empty()) return folder + "/" + file;
  size_t at = 0;
  while (std::string_view(file).substr(at).starts_with("./")) at += 2;
  return file.substr(at);
}

}  // namespace

uint32_t DwarfScopes::method(const std::string& function, const std::string& file) {
  const auto [place, fresh] =
      methods_.try_emplace({function, file}, static_cast<uint32_t>(scopes_.methods.size()));
  if (fresh) {
    scopes_.methods.push_back({function, file});
    text_ += function.size() + file.size();
  }
  return place->second;
}

uint32_t DwarfScopes::scope(uint32_t caller, const std::string& function, const std::string& file,
                            uint32_t line) {
  const uint32_t of = method(function, file);
  const auto [place, fresh] =
      places_.try_emplace({caller, of, line}, static_cast<uint32_t>(scopes_.scopes.size()));
  if (fresh) scopes_.scopes.push_back({caller, of, -1, line});
  return place->second;
}

void DwarfScopes::add(uint64_t begin, uint64_t end, uint32_t scope) {
  const auto first = static_cast<uint32_t>(begin - begin_);
  const auto last = static_cast<uint32_t>(end - begin_);
  if (!scopes_.ranges.empty() && scopes_.ranges.back().end == first &&
      scopes_.ranges.back().scope == scope) {
    scopes_.ranges.back().end = last;
  } else {
    scopes_.ranges.push_back({first, last, scope, true});
  }
}

// Copies of inlined functions in one function, callers before those that they call. [0] is the
// function itself.
struct DwarfFrames::Copies {
  struct Copy {
    uint32_t caller = 0;
    uint32_t depth = 0;
    Dwarf_Die entry{};
    size_t first_range = 0;
    size_t ranges = 0;
  };
  std::vector<Copy> all;
  std::vector<Range> ranges;
};

DwarfFrames::Piece DwarfFrames::piece_at(const std::vector<Range>& ranges, uint64_t at,
                                         uint64_t end) {
  Piece piece{std::nullopt, end};
  auto next = std::ranges::upper_bound(ranges, at, {}, &Range::start);
  if (next != ranges.end()) piece.end = std::min(piece.end, next->start);
  // As find() does.
  for (int tries = 0; tries < 16 && next != ranges.begin(); ++tries) {
    --next;
    if (at >= next->end) continue;
    piece.entry = next->entry;
    piece.end = std::min(piece.end, next->end);
    break;
  }
  return piece;
}

CodeScopes DwarfFrames::scopes(uint64_t begin, uint64_t end) {
  if (begin >= end || end - begin > UINT32_MAX) return {};
  DwarfScopes out(begin);
  for (uint64_t at = begin; at < end;) {
    const Piece in_unit = piece_at(units_, at, end);
    Dwarf_Die unit;
    if (in_unit.entry && dwarf_offdie(dwarf_, *in_unit.entry, &unit) != nullptr) {
      const std::vector<Range>& functions = functions_of(unit);
      for (uint64_t inner = at; inner < in_unit.end;) {
        const Piece piece = piece_at(functions, inner, in_unit.end);
        add_scopes(unit, piece.entry, inner, piece.end, out);
        inner = piece.end;
        // Half of the lines of a function would be taken for all of them.
        if (work_left_ == 0 || out.too_large()) return {};
      }
    }
    at = in_unit.end;
    if (work_left_ == 0) return {};
    take_step();
  }
  return out.take();
}

bool DwarfFrames::read_rows(Dwarf_Die& unit, Dwarf_Lines*& lines, size_t& count) {
  const auto* section = file_->section(".debug_line", SHT_PROGBITS);
  if (section != nullptr && section->header.sh_size > largest_line_section) return false;
  const Dwarf_Off offset = dwarf_dieoffset(&unit);
  if (rows_left_ == 0 && !units_with_rows_.contains(offset)) return false;
  if (dwarf_getsrclines(&unit, &lines, &count) != 0) return false;
  if (units_with_rows_.insert(offset).second) rows_left_ -= std::min(rows_left_, count);
  return count != 0;
}

void DwarfFrames::find_copies(Dwarf_Die function, Copies& copies) {
  copies.all.push_back({0, 0, function, 0, 0});
  struct Level {
    Dwarf_Die entry;
    uint32_t caller;
  };
  std::vector<Level> path;
  Level at{{}, 0};
  bool more = dwarf_first_child(function, at.entry);
  while (more && work_left_ > 0) {
    take_step();
    const int tag = dwarf_tag(&at.entry);
    if (may_hold_inlined(tag) && path.size() < deepest_entry) {
      Level inner{{}, at.caller};
      const uint32_t depth = copies.all[at.caller].depth + 1;
      bool enter = true;
      if (tag == DW_TAG_inlined_subroutine) {
        // A chain has the function and the places of all copies in it.
        enter = depth < CodeScopes::kDeepest && copies.all.size() < most_copies &&
                copies.ranges.size() < most_copy_ranges;
        if (enter) {
          const size_t first = copies.ranges.size();
          add_ranges(at.entry, copies.ranges);
          inner.caller = static_cast<uint32_t>(copies.all.size());
          copies.all.push_back({at.caller, depth, at.entry, first, copies.ranges.size() - first});
        }
      }
      if (enter && dwarf_first_child(at.entry, inner.entry)) {
        path.push_back(at);
        at = inner;
        continue;
      }
    }
    while (!(more = dwarf_next_sibling(at.entry)) && !path.empty()) {
      at = path.back();
      path.pop_back();
    }
  }
}

void DwarfFrames::add_scopes(Dwarf_Die& unit, std::optional<Dwarf_Off> function, uint64_t begin,
                             uint64_t end, DwarfScopes& out) {
  // Rows that begin in the stretch, and the one before.
  struct Row {
    uint64_t begin = 0;
    Dwarf_Line* line = nullptr;  // null: nothing is said from here
  };
  std::vector<Row> rows;
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (read_rows(unit, lines, count)) {
    const auto address_of = [&](size_t i) {
      Dwarf_Addr address = 0;
      Dwarf_Line* line = dwarf_onesrcline(lines, i);
      return line != nullptr && dwarf_lineaddr(line, &address) == 0 ? address : UINT64_MAX;
    };
    size_t first = 0;
    for (size_t behind = count; first < behind;) {
      const size_t middle = first + (behind - first) / 2;
      if (address_of(middle) <= begin) {
        first = middle + 1;
      } else {
        behind = middle;
      }
    }
    for (size_t i = first == 0 ? 0 : first - 1; i < count && work_left_ > 0; ++i) {
      take_step();
      const uint64_t address = std::max(address_of(i), begin);
      if (address >= end) break;
      Dwarf_Line* line = dwarf_onesrcline(lines, i);
      bool ends = false;
      if (dwarf_lineendsequence(line, &ends) != 0 || ends) line = nullptr;
      // Of several rows at one address the last one says it.
      if (!rows.empty() && rows.back().begin >= address) {
        rows.back().line = line;
      } else {
        rows.push_back({address, line});
      }
    }
  }

  Copies copies;
  Dwarf_Die entry;
  const bool known = function && dwarf_offdie(dwarf_, *function, &entry) != nullptr;
  if (known) find_copies(entry, copies);
  std::vector<uint64_t> cuts = {begin, end};
  for (const Row& row : rows) cuts.push_back(row.begin);
  for (Range& range : copies.ranges) {
    range.start = std::clamp(range.start, begin, end);
    range.end = std::clamp(range.end, begin, end);
    cuts.push_back(range.start);
    cuts.push_back(range.end);
  }
  std::ranges::sort(cuts);
  const auto again = std::ranges::unique(cuts);
  cuts.erase(again.begin(), again.end());
  std::vector<uint32_t> owners(cuts.size() - 1, 0);
  for (uint32_t i = 1; i < copies.all.size(); ++i) {
    const Copies::Copy& copy = copies.all[i];
    for (size_t r = copy.first_range; r < copy.first_range + copy.ranges; ++r) {
      const Range& range = copies.ranges[r];
      auto at = static_cast<size_t>(std::ranges::lower_bound(cuts, range.start) - cuts.begin());
      for (; cuts[at] < range.end && work_left_ > 0; ++at) {
        take_step();
        if (owners[at] == copy.caller) owners[at] = i;
      }
    }
  }
  if (work_left_ == 0) return;

  // Of each copy: its name, and the scope that called it; made when code of it is met.
  struct Place {
    bool made = false;
    std::string name;
    uint32_t caller = CodeScopes::kNone;
  };
  std::vector<Place> places(std::max<size_t>(copies.all.size(), 1));
  const std::string folder = folder_of(unit);
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;
  if (copies.all.size() > 1 && dwarf_getsrcfiles(&unit, &files, &file_count) != 0) file_count = 0;
  const auto make = [&](uint32_t wanted) {
    std::vector<uint32_t> chain;
    for (uint32_t i = wanted; !places[i].made; i = copies.all[i].caller) {
      chain.push_back(i);
      if (i == 0) break;
    }
    for (; !chain.empty(); chain.pop_back()) {
      const uint32_t i = chain.back();
      Place& place = places[i];
      place.made = true;
      if (!known) continue;
      Dwarf_Die& die = copies.all[i].entry;
      place.name = name_of(die);
      if (i == 0) continue;
      const auto line =
          static_cast<uint32_t>(dwarf_number(die, DW_AT_call_line).value_or(0) & UINT32_MAX);
      const auto file = dwarf_number(die, DW_AT_call_file);
      const Place& caller = places[copies.all[i].caller];
      place.caller = out.scope(caller.caller, caller.name,
                               file && *file < file_count
                                   ? file_in(folder, dwarf_filesrc(files, *file, nullptr, nullptr))
                                   : std::string(),
                               line);
    }
  };
  size_t row = 0;
  for (size_t i = 0; i + 1 < cuts.size() && work_left_ > 0 && !out.too_large(); ++i) {
    take_step();
    while (row < rows.size() && rows[row].begin <= cuts[i]) ++row;
    Dwarf_Line* line = row == 0 ? nullptr : rows[row - 1].line;
    if (line == nullptr && owners[i] == 0) continue;
    make(owners[i]);
    int number = 0;
    std::string file;
    if (line != nullptr) {
      if (dwarf_lineno(line, &number) != 0) number = 0;
      file = file_in(folder, dwarf_linesrc(line, nullptr, nullptr));
    }
    const Place& place = places[owners[i]];
    out.add(cuts[i], cuts[i + 1],
            out.scope(place.caller, place.name, file, static_cast<uint32_t>(number)));
  }
}

}  // namespace jitscope
