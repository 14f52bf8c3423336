// Brings an image to its end: order, layout, tables, headers, build-id.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "image/code_image_draft.h"
#include "image/elf_sections.h"

namespace jitscope {
namespace {

using elf_layout::Extent;
using elf_layout::page_down;
using elf_layout::page_up;
using elf_layout::Stretch;

static_assert(ElfTables::start_size(elf_layout::kMostPackedStretches + 5) <=
              elf_layout::kPackedHeaderRoom - kPage);
static_assert(ElfTables::start_size(elf_layout::kMostMappedStretches + 5) <= kImageHeaderRoom);

// Unwind tables say by 32-bit differences where code is.
constexpr uint64_t kReach = uint64_t{1} << 31U;

// The steps of run(), each relying on those before it.
class Finish {
 public:
  Finish(ImageDraft& draft, uint64_t unwind_place)
      : draft_(draft), unwind_place_(unwind_place), tables_(draft.mapped() ? ET_DYN : ET_EXEC) {}

  Result<ImageSummary> run() {
    JITSCOPE_TRY(order());
    JITSCOPE_TRY(lay_out());
    JITSCOPE_TRY(place_start());
    JITSCOPE_TRY(add_unwind());
    add_text();
    JITSCOPE_TRY(add_symbols());
    JITSCOPE_TRY(add_debug());
    return close();
  }

 private:
  Status order();
  Status lay_out();
  Status place_start();
  Status add_unwind();
  std::vector<PlacedUnwind> reachable(uint64_t header_address, uint64_t size) const;
  size_t best_window(std::vector<PlacedUnwind>& placed) const;
  void add_text();
  Status add_symbols();
  Status add_comment();
  Status add_debug();
  Result<ImageSummary> close();

  uint64_t free_address(uint64_t size, size_t near);
  Status append(std::string_view name, Elf64_Shdr header, std::span<const std::byte> bytes,
                uint16_t* number = nullptr);
  void load(uint32_t flags, uint64_t address, uint64_t offset, uint64_t size, bool bytes = true);

  ImageDraft& draft_;
  uint64_t unwind_place_;
  ElfTables tables_;
  BuildIdHash hash_;
  ImageSummary summary_;
  std::vector<Stretch> stretches_;
  std::vector<Extent> taken_;  // by what is mapped; sorted
  std::vector<uint16_t> text_sections_;
  uint64_t tail_ = 0;  // of the file: where the next section may begin
  uint64_t start_address_ = 0;
  size_t segment_count_ = 0;
};

Status Finish::order() {
  auto& bodies = draft_.bodies;
  std::ranges::stable_sort(bodies, {}, &ImageDraft::Body::begin);
  for (size_t i = 1; i < bodies.size(); ++i) {
    if (bodies[i].begin >= bodies[i - 1].end) continue;
    const auto name = [&](size_t at) {
      return reinterpret_cast<const char*>(draft_.names.bytes().data()) + bodies[at].name;
    };
    return fail(
        ErrorKind::usage,
        fmt::format("two bodies lie on each other in the image: {} and {}", name(i - 1), name(i)),
        fmt::format("{:#x}", bodies[i].begin),
        "an image holds the bodies of one moment: write one for each");
  }
  return {};
}

Status Finish::lay_out() {
  std::vector<Extent> extents;
  extents.reserve(draft_.bodies.size());
  for (const auto& body : draft_.bodies) extents.push_back({body.begin, body.end, body.bytes});
  std::optional<Extent> cut;
  if (unwind_place_ != 0) {
    if (!draft_.mapped() || unwind_place_ % kPage != 0 || unwind_place_ < kImageHeaderRoom ||
        unwind_place_ > elf_layout::kMostAddress) {
      return fail(ErrorKind::usage, "unwind tables cannot lie there",
                  fmt::format("{:#x}", unwind_place_));
    }
    cut = Extent{unwind_place_, unwind_place_, false};
  }
  const size_t most =
      draft_.mapped() ? elf_layout::kMostMappedStretches : elf_layout::kMostPackedStretches;
  stretches_ = elf_layout::stretches_of(extents, most, cut);
  if (draft_.mapped()) {
    tail_ = std::max(kImageHeaderRoom, extents.empty() ? 0 : extents.back().end);
  } else {
    tail_ = elf_layout::pack(stretches_);
    if (tail_ > elf_layout::kMostAddress) {
      return fail(ErrorKind::not_possible, "the code lies too far apart for one image", {},
                  "write more than one image");
    }
    JITSCOPE_TRY(move_code(draft_, stretches_));
  }
  taken_.reserve(stretches_.size() + 2);
  for (const Stretch& stretch : stretches_) taken_.push_back({stretch.begin, stretch.end, true});
  return {};
}

// Whole pages that nothing is mapped to, below the extent `near` or behind it.
uint64_t Finish::free_address(uint64_t size, size_t near) {
  size = page_up(size);
  const auto take = [&](uint64_t begin) {
    taken_.push_back({begin, begin + size, true});
    std::ranges::sort(taken_, {}, &Extent::begin);
    return begin;
  };
  if (taken_.empty()) return take(uint64_t{4} << 20U);
  const uint64_t low = near == 0 ? kPage : page_up(taken_[near - 1].end);
  const uint64_t high = page_down(taken_[near].begin);
  if (high >= low && high - low >= size) return take(high - size);
  for (size_t i = near; i + 1 < taken_.size(); ++i) {
    const uint64_t from = page_up(taken_[i].end);
    const uint64_t to = page_down(taken_[i + 1].begin);
    if (to >= from && to - from >= size) return take(from);
  }
  return take(page_up(taken_.back().end));
}

Status Finish::place_start() {
  const bool unwind = !draft_.unwind.empty();
  // Start, text, note, stack; with unwind tables those and their header.
  segment_count_ = 1 + stretches_.size() + 2 + (unwind ? 2 : 0);
  const uint64_t size = ElfTables::start_size(segment_count_);
  start_address_ = draft_.mapped() ? 0 : free_address(size, 0);
  load(PF_R, start_address_, 0, size);
  const uint64_t note = ElfTables::note_offset(segment_count_);
  Elf64_Shdr section{};
  section.sh_type = SHT_NOTE;
  section.sh_flags = SHF_ALLOC;
  section.sh_addr = start_address_ + note;
  section.sh_offset = note;
  section.sh_size = ElfTables::kNoteSize;
  section.sh_addralign = 4;
  tables_.section(".note.gnu.build-id", section);
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_flags = PF_R;
  segment.p_offset = note;
  segment.p_vaddr = segment.p_paddr = section.sh_addr;
  segment.p_filesz = segment.p_memsz = ElfTables::kNoteSize;
  segment.p_align = 4;
  tables_.segment(segment);
  segment = {};
  segment.p_type = PT_GNU_STACK;
  segment.p_flags = PF_R | PF_W;
  segment.p_align = 16;
  tables_.segment(segment);
  return {};
}

void Finish::load(uint32_t flags, uint64_t address, uint64_t offset, uint64_t size, bool bytes) {
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = flags;
  segment.p_offset = offset;
  segment.p_vaddr = segment.p_paddr = address;
  segment.p_filesz = bytes ? size : 0;
  segment.p_memsz = size;
  segment.p_align = kPage;
  tables_.segment(segment);
}

// Keeps of the tables those around which one place can reach the most; the first stretch they lie
// in.
size_t Finish::best_window(std::vector<PlacedUnwind>& placed) const {
  size_t best = 0;
  size_t best_count = 0;
  size_t end = 0;
  for (size_t i = 0; i < placed.size(); ++i) {
    while (end < placed.size() && placed[end].place - placed[i].place < kReach / 4 * 3) ++end;
    if (end - i > best_count) {
      best = i;
      best_count = end - i;
    }
  }
  placed = {placed.begin() + static_cast<ptrdiff_t>(best),
            placed.begin() + static_cast<ptrdiff_t>(best + best_count)};
  size_t near = 0;
  while (taken_[near].end <= placed.front().place) ++near;
  return near;
}

std::vector<PlacedUnwind> Finish::reachable(uint64_t header_address, uint64_t size) const {
  const uint64_t reach = kReach - std::min(kReach, size + kPage);
  std::vector<PlacedUnwind> placed;
  for (const auto& unwind : draft_.unwind) {
    const uint64_t end = unwind.place + unwind.table.offset + unwind.table.size;
    const uint64_t apart =
        unwind.place < header_address ? header_address - unwind.place : end - header_address;
    if (apart < reach) placed.push_back({unwind.place, &unwind.table});
  }
  return placed;
}

Status Finish::add_unwind() {
  if (draft_.unwind.empty()) return {};
  std::vector<PlacedUnwind> placed;
  for (const auto& unwind : draft_.unwind) placed.push_back({unwind.place, &unwind.table});
  const uint64_t size = eh_frame_size(placed);
  uint64_t address = unwind_place_ != 0 ? unwind_place_ : page_up(tail_);
  uint64_t offset = address;
  if (!draft_.mapped()) {
    std::ranges::stable_sort(placed, {}, &PlacedUnwind::place);
    address = free_address(size, best_window(placed));
    offset = page_up(tail_);
  }
  placed = reachable(address, size);
  std::ranges::stable_sort(placed, [](const PlacedUnwind& a, const PlacedUnwind& b) {
    return a.place + a.table->offset < b.place + b.table->offset;
  });
  JITSCOPE_ASSIGN(const EhFrame made, eh_frame(placed, address));
  const uint64_t frame = (made.header.size() + 7) / 8 * 8;  // behind the header
  const uint64_t used = frame + made.frame.size();
  for (const Extent& extent : taken_) {
    if (draft_.mapped() && extent.begin < address + used && address < extent.end) {
      return fail(ErrorKind::usage, "a body lies where the unwind tables go",
                  fmt::format("{:#x}", address));
    }
  }
  const auto header_bytes = std::as_bytes(std::span(made.header));
  const auto frame_bytes = std::as_bytes(std::span(made.frame));
  JITSCOPE_TRY(draft_.output.write(offset, header_bytes));
  JITSCOPE_TRY(draft_.output.write(offset + frame, frame_bytes));
  hash_.add(content_digest(header_bytes));
  hash_.add(content_digest(frame_bytes));
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  section.sh_flags = SHF_ALLOC;
  section.sh_addr = address;
  section.sh_offset = offset;
  section.sh_size = made.header.size();
  section.sh_addralign = 4;
  tables_.section(".eh_frame_hdr", section);
  Elf64_Phdr segment{};
  segment.p_type = PT_GNU_EH_FRAME;
  segment.p_flags = PF_R;
  segment.p_offset = offset;
  segment.p_vaddr = segment.p_paddr = address;
  segment.p_filesz = segment.p_memsz = made.header.size();
  segment.p_align = 4;
  tables_.segment(segment);
  section.sh_addr = address + frame;
  section.sh_offset = offset + frame;
  section.sh_size = made.frame.size();
  section.sh_addralign = 8;
  tables_.section(".eh_frame", section);
  load(PF_R, address, offset, used);
  tail_ = std::max(tail_, offset + used);
  summary_.unwind_place = draft_.mapped() ? address : 0;
  summary_.unwind_size = used;
  return {};
}

void Finish::add_text() {
  size_t with_bytes = 0;
  for (size_t i = 0; i < stretches_.size(); ++i) {
    const Stretch& stretch = stretches_[i];
    const uint64_t size = stretch.end - stretch.begin;
    Elf64_Shdr section{};
    section.sh_type = stretch.bytes ? SHT_PROGBITS : SHT_NOBITS;
    section.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    section.sh_addr = stretch.begin;
    section.sh_offset = stretch.offset;
    section.sh_size = size;
    section.sh_addralign = stretch.begin % 16 == 0 ? 16 : 1;
    const bool first = stretch.bytes && with_bytes++ == 0;
    text_sections_.push_back(
        tables_.section(first ? ".text" : fmt::format(".text.{}", i), section));
    load(PF_R | PF_X, stretch.begin, stretch.offset, size, stretch.bytes);
  }
  if (!stretches_.empty()) summary_.first_text = page_down(stretches_.front().begin);
}

Status Finish::append(std::string_view name, Elf64_Shdr header, std::span<const std::byte> bytes,
                      uint16_t* number) {
  tail_ = (tail_ + 7) / 8 * 8;
  header.sh_offset = tail_;
  header.sh_size = bytes.size();
  const uint16_t made = tables_.section(name, header);
  if (number != nullptr) *number = made;
  JITSCOPE_TRY(draft_.output.write(tail_, bytes));
  hash_.add(content_digest(bytes));
  tail_ += bytes.size();
  return {};
}

Status Finish::add_symbols() {
  ByteWriter table;
  uint64_t count = 1;
  table.zeros(sizeof(Elf64_Sym));
  size_t at = 0;
  for (const auto& body : draft_.bodies) {
    while (body.begin >= stretches_[at].end) ++at;
    Elf64_Sym symbol{};
    symbol.st_name = body.name;
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_other = STV_DEFAULT;
    symbol.st_shndx = text_sections_[at];
    symbol.st_value = body.begin;
    symbol.st_size = body.end - body.begin;
    table.raw(std::as_bytes(std::span(&symbol, 1)));
    ++count;
    if (body.alias == 0) continue;
    // Weak: tools that show one name for an address then take the other.
    symbol.st_name = body.alias;
    symbol.st_info = ELF64_ST_INFO(STB_WEAK, STT_FUNC);
    table.raw(std::as_bytes(std::span(&symbol, 1)));
    ++count;
  }
  summary_.symbols = count - 1;
  Elf64_Shdr names{};
  names.sh_type = SHT_STRTAB;
  names.sh_addralign = 1;
  uint16_t names_section = 0;
  JITSCOPE_TRY(append(".strtab", names, draft_.names.bytes(), &names_section));
  Elf64_Shdr symbols{};
  symbols.sh_type = SHT_SYMTAB;
  symbols.sh_addralign = 8;
  symbols.sh_entsize = sizeof(Elf64_Sym);
  symbols.sh_link = names_section;
  symbols.sh_info = 1;  // the first that is not local
  return append(".symtab", symbols, table.bytes());
}

// Whose the image is, where no DWARF tells it.
Status Finish::add_comment() {
  ByteWriter texts;
  for (const std::string_view text : {draft_.options.producer, draft_.options.title}) {
    texts.raw(std::as_bytes(std::span(text)));
    texts.u8(0);
  }
  Elf64_Shdr header{};
  header.sh_type = SHT_PROGBITS;
  header.sh_flags = SHF_MERGE | SHF_STRINGS;
  header.sh_entsize = 1;
  header.sh_addralign = 1;
  return append(".comment", header, texts.bytes());
}

Status Finish::add_debug() {
  if (!draft_.debug) return draft_.mapped() ? Status() : add_comment();
  if (draft_.bodies.empty()) return {};
  JITSCOPE_ASSIGN(const auto sections, draft_.debug->finish());
  for (const DebugSections::Section& section : sections) {
    Elf64_Shdr header{};
    header.sh_type = SHT_PROGBITS;
    header.sh_addralign = 1;
    if (section.strings) {
      header.sh_flags = SHF_MERGE | SHF_STRINGS;
      header.sh_entsize = 1;
    }
    JITSCOPE_TRY(append(section.name, header, section.bytes));
  }
  return {};
}

Result<ImageSummary> Finish::close() {
  for (const auto& body : draft_.bodies) {
    hash_.add(body.begin);
    hash_.add(body.end);
    hash_.add(body.digest);
  }
  ByteWriter end;
  const uint64_t section_headers = tables_.write_end(end, tail_);
  JITSCOPE_TRY(draft_.output.write(tail_, end.bytes()));
  hash_.add(content_digest(end.bytes()));

  tables_.sort_segments();
  std::array<std::byte, kBuildIdSize> build_id{};
  ByteWriter start;
  tables_.write_start(start, section_headers, build_id);
  hash_.add(content_digest(start.bytes()));
  build_id = hash_.finish();
  start.clear();
  tables_.write_start(start, section_headers, build_id);
  JITSCOPE_TRY(draft_.output.write(0, start.bytes()));
  JITSCOPE_TRY(draft_.output.flush());

  summary_.build_id.assign(build_id.begin(), build_id.end());
  summary_.bodies = draft_.bodies.size();
  summary_.with_bytes = draft_.with_bytes;
  summary_.file_bytes = draft_.output.end();
  return summary_;
}

}  // namespace

Result<ImageSummary> finish_image(ImageDraft& draft, uint64_t unwind_place) {
  return Finish(draft, unwind_place).run();
}

}  // namespace jitscope
