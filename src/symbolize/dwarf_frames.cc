#include "symbolize/dwarf_frames.h"

#include <dwarf.h>

#include <algorithm>

#include "base/work_limit.h"
#include "symbolize/debug_files.h"
#include "symbolize/demangle.h"
#include "symbolize/dwarf_entries.h"

namespace jitscope {
namespace {

// A browser's debug information has some 100 million entries, but only the units asked for count.
constexpr size_t most_work = 400'000'000;
// Of line tables, for scopes(): libdw keeps some 40 bytes of each.
constexpr size_t most_rows = size_t{1} << 25;
constexpr size_t deepest = 256;
constexpr size_t longest_scope = 4096;

bool may_hold_functions(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
         tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

}  // namespace

std::unique_ptr<DwarfFrames> DwarfFrames::open(std::unique_ptr<ElfFile> file,
                                               const ElfImageOptions& options) {
  if (file == nullptr || !file->sizes_are_sane()) return nullptr;
  if (file->filled_section(".debug_info") == nullptr &&
      file->filled_section(".zdebug_info") == nullptr) {
    return nullptr;
  }
  std::unique_ptr<DwarfFrames> frames(new DwarfFrames);
  bool shares = false;
  frames->shared_file_ = find_shared_debug_file(*file, options, shares);
  // Left to itself, libdw opens whatever path the file names.
  if (shares && (frames->shared_file_ == nullptr || !frames->shared_file_->sizes_are_sane())) {
    return nullptr;
  }
  frames->dwarf_ = dwarf_begin_elf(file->elf(), DWARF_C_READ, nullptr);
  if (frames->dwarf_ == nullptr) return nullptr;
  frames->file_ = std::move(file);
  if (shares) {
    frames->shared_ = dwarf_begin_elf(frames->shared_file_->elf(), DWARF_C_READ, nullptr);
    if (frames->shared_ == nullptr) return nullptr;
    dwarf_setalt(frames->dwarf_, frames->shared_);
  }
  frames->readable_names_ = options.demangle;
  frames->work_left_ = most_work;
  frames->rows_left_ = most_rows;
  frames->index_units();
  return frames;
}

DwarfFrames::~DwarfFrames() {
  if (dwarf_ != nullptr) dwarf_end(dwarf_);
  if (shared_ != nullptr) dwarf_end(shared_);
}

// One entry or range read; none are left when the work is over.
void DwarfFrames::take_step() {
  if (--work_left_ % 1024 == 0 && WorkLimit::over()) work_left_ = 0;
}

void DwarfFrames::add_ranges(Dwarf_Die& entry, std::vector<Range>& ranges) {
  Dwarf_Addr base = 0;
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  ptrdiff_t at = 0;
  while (work_left_ > 0) {
    take_step();
    const ptrdiff_t next = dwarf_ranges(&entry, at, &base, &start, &end);
    if (next <= at) return;
    at = next;
    // What the linker threw away begins at 0.
    if (start < end && start != 0) ranges.push_back({start, end, dwarf_dieoffset(&entry)});
  }
}

void DwarfFrames::index_units() {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die entry;
  Dwarf_Off last = 0;
  while (work_left_ > 0 &&
         dwarf_get_units(dwarf_, unit, &unit, nullptr, nullptr, &entry, nullptr) == 0) {
    take_step();
    const Dwarf_Off offset = dwarf_dieoffset(&entry);
    if (offset <= last) break;
    last = offset;
    const size_t before = units_.size();
    add_ranges(entry, units_);
    if (units_.size() != before) continue;
    // A unit without addresses of its own: those of its functions.
    for (const Range& function : functions_of(entry)) {
      units_.push_back({function.start, function.end, offset});
    }
  }
  std::ranges::stable_sort(units_, {}, &Range::start);
}

std::optional<Dwarf_Off> DwarfFrames::find(const std::vector<Range>& ranges, uint64_t address) {
  auto after = std::ranges::upper_bound(ranges, address, {}, &Range::start);
  // Ranges do not overlap, but for a few that compilers get wrong.
  for (int tries = 0; tries < 16 && after != ranges.begin(); ++tries) {
    --after;
    if (address < after->end) return after->entry;
  }
  return std::nullopt;
}

const std::vector<DwarfFrames::Range>& DwarfFrames::functions_of(Dwarf_Die& unit) {
  const auto [place, added] = functions_.try_emplace(dwarf_dieoffset(&unit));
  std::vector<Range>& functions = place->second;
  if (!added) return functions;
  struct Level {
    Dwarf_Die entry;
    std::string scope;
  };
  std::vector<Level> path;
  Dwarf_Die entry;
  bool more = dwarf_first_child(unit, entry);
  while (more && work_left_ > 0) {
    take_step();
    const int tag = dwarf_tag(&entry);
    Dwarf_Die child;
    if (tag == DW_TAG_subprogram) {
      if (dwarf_hasattr(&entry, DW_AT_low_pc) != 0 || dwarf_hasattr(&entry, DW_AT_ranges) != 0) {
        add_ranges(entry, functions);
      }
      if (!path.empty() && dwarf_hasattr(&entry, DW_AT_linkage_name) == 0) {
        scopes_[dwarf_dieoffset(&entry)] = path.back().scope;
      }
    } else if (may_hold_functions(tag) && path.size() < deepest &&
               dwarf_first_child(entry, child)) {
      const std::string name = dwarf_text(dwarf_diename(&entry));
      std::string scope = path.empty() ? std::string() : path.back().scope;
      if (scope.size() < longest_scope) {
        scope += (!name.empty()             ? name
                  : tag == DW_TAG_namespace ? "(anonymous namespace)"
                                            : "{unnamed type}") +
                 "::";
      }
      path.push_back({entry, std::move(scope)});
      entry = child;
      continue;
    }
    while (!(more = dwarf_next_sibling(entry)) && !path.empty()) {
      entry = path.back().entry;
      path.pop_back();
    }
  }
  std::ranges::stable_sort(functions, {}, &Range::start);
  return functions;
}

std::string DwarfFrames::name_of(Dwarf_Die& function) {
  Dwarf_Attribute attribute;
  for (const unsigned int name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (dwarf_attr_integrate(&function, name, &attribute) == nullptr) continue;
    const std::string raw = dwarf_text(dwarf_formstring(&attribute));
    if (!raw.empty()) return readable_names_ ? demangle_short(raw) : raw;
  }
  if (dwarf_attr_integrate(&function, DW_AT_name, &attribute) == nullptr) return {};
  // Functions of one file have no linkage name: what they are declared in is put before it.
  Dwarf_Die entry = function;
  for (int steps = 0; steps < 16; ++steps) {
    Dwarf_Die unit;
    if (dwarf_diecu(&entry, &unit, nullptr, nullptr) == nullptr) break;
    if (dwarf_cu_getdwarf(entry.cu) == dwarf_) (void)functions_of(unit);
    const auto scope = scopes_.find(dwarf_dieoffset(&entry));
    if (scope != scopes_.end() && dwarf_cu_getdwarf(entry.cu) == dwarf_) {
      return scope->second + dwarf_text(dwarf_formstring(&attribute));
    }
    Dwarf_Attribute origin;
    if (dwarf_attr(&entry, DW_AT_abstract_origin, &origin) == nullptr &&
        dwarf_attr(&entry, DW_AT_specification, &origin) == nullptr) {
      break;
    }
    Dwarf_Die next;
    if (dwarf_formref_die(&origin, &next) == nullptr) break;
    entry = next;
  }
  return dwarf_text(dwarf_formstring(&attribute));
}

std::vector<SourceFrame> DwarfFrames::at(uint64_t address) {
  std::vector<SourceFrame> frames;
  const auto unit_offset = find(units_, address);
  Dwarf_Die unit;
  if (!unit_offset || dwarf_offdie(dwarf_, *unit_offset, &unit) == nullptr) return frames;
  SourceFrame frame;
  if (Dwarf_Line* line = dwarf_getsrc_die(&unit, address)) {
    int line_number = 0;
    if (dwarf_lineno(line, &line_number) == 0) frame.line = static_cast<uint32_t>(line_number);
    frame.file = dwarf_text(dwarf_linesrc(line, nullptr, nullptr));
  }
  const auto function_offset = find(functions_of(unit), address);
  Dwarf_Die function;
  if (!function_offset || dwarf_offdie(dwarf_, *function_offset, &function) == nullptr) {
    if (frame.line != 0) frames.push_back(std::move(frame));
    return frames;
  }
  // Outermost first: the function, then the copies in it that hold the address.
  std::vector<Dwarf_Die> inlined = {function};
  Dwarf_Die entry;
  Dwarf_Die parent = function;
  size_t depth = 0;
  while (depth < deepest && dwarf_first_child(parent, entry)) {
    bool found = false;
    do {
      if (work_left_ == 0) break;
      take_step();
      const int tag = dwarf_tag(&entry);
      const bool copy = tag == DW_TAG_inlined_subroutine;
      if (!may_hold_inlined(tag)) continue;
      if (dwarf_haspc(&entry, address) <= 0) continue;
      if (copy) inlined.push_back(entry);
      found = true;
    } while (!found && dwarf_next_sibling(entry));
    if (!found) break;
    parent = entry;
    ++depth;
  }
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;
  if (inlined.size() > 1 && dwarf_getsrcfiles(&unit, &files, &file_count) != 0) file_count = 0;
  // The line of a frame is where the next inner one was called.
  for (size_t i = inlined.size(); i-- > 0;) {
    frame.function = name_of(inlined[i]);
    frames.push_back(std::move(frame));
    frame = {};
    if (i == 0) break;
    frame.line =
        static_cast<uint32_t>(dwarf_number(inlined[i], DW_AT_call_line).value_or(0) & UINT32_MAX);
    const auto file = dwarf_number(inlined[i], DW_AT_call_file);
    if (file && *file < file_count)
      frame.file = dwarf_text(dwarf_filesrc(files, *file, nullptr, nullptr));
  }
  return frames;
}

}  // namespace jitscope
