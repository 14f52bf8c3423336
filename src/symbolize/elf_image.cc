#include "symbolize/elf_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/same_file.h"
#include "base/work_limit.h"
#include "symbolize/debug_files.h"
#include "symbolize/dwarf_frames.h"
#include "symbolize/elf_file.h"
#include "symbolize/mini_debug_info.h"
#include "symbolize/symbol_table.h"

namespace jitscope {
namespace {

using Segment = ElfFile::Segment;

// Where code lies in the file and in its own terms.
std::vector<Segment> code_places(const ElfFile& file) {
  std::vector<Segment> places = file.segments();
  if (places.empty()) {
    // An object file, or one that a profiler wrote: by sections. Objects have offsets only.
    for (const auto& section : file.sections()) {
      const auto& header = section.header;
      if ((header.sh_flags & SHF_ALLOC) == 0 || header.sh_type == SHT_NOBITS) continue;
      const uint64_t address = file.type() == ET_REL ? header.sh_offset : header.sh_addr;
      places.push_back({header.sh_offset, header.sh_size, address, header.sh_size,
                        (header.sh_flags & SHF_EXECINSTR) != 0});
    }
  }
  // Code first: segments may share a page of the file.
  std::ranges::stable_partition(places, [](const Segment& place) { return place.executable; });
  return places;
}

}  // namespace

std::string build_id_text(std::span<const std::byte> id) {
  std::string text;
  for (const std::byte byte : id) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

struct ElfImage::State {
  explicit State(ElfImageOptions given) : options(std::move(given)), table(options.demangle) {}

  void load(std::unique_ptr<ElfFile> file);
  DwarfFrames* debug_information();

  ElfImageOptions options;
  SymbolTable table;
  std::vector<Segment> places;
  BuildIdBytes build_id;
  std::string path;         // of the image, inside `root`
  std::string root;         // where the image itself was found
  std::string symbol_file;  // as the caller may open it
  std::vector<std::byte> memory;
  bool has_functions = false;
  bool only_dynamic = false;
  std::string left;  // see ElfImage::left_out()
  struct stat status = {};
  bool looked_for_debug_information = false;
  std::unique_ptr<DwarfFrames> frames;
};

ElfImage::ElfImage(std::unique_ptr<State> state) : state_(std::move(state)) {}
ElfImage::~ElfImage() = default;

void ElfImage::State::load(std::unique_ptr<ElfFile> file) {
  places = code_places(*file);
  build_id = file->build_id();
  path = file->path();
  root = file->root();
  status = file->status();
  symbol_file = path;
  const bool in_file = file->fd() >= 0;
  const auto add = [this](const ElfFile& from) {
    for (const auto& [name, type] : {std::pair(".symtab", SHT_SYMTAB), {".dynsym", SHT_DYNSYM}}) {
      if (const auto* section = from.section(name, type)) table.add(from, *section);
    }
  };
  std::unique_ptr<ElfFile> debug_file;
  std::unique_ptr<ElfFile> inner;
  const bool complete = file->section(".symtab", SHT_SYMTAB) != nullptr;
  if (in_file) {
    // A server is asked only for what is not here.
    ElfImageOptions choice = options;
    choice.debuginfod = options.debuginfod && !complete;
    debug_file = find_debug_file(*file, choice, ".symtab", left);
  }
  if (debug_file != nullptr) {
    add(*debug_file);
    symbol_file = debug_file->path();
  } else {
    add(*file);
    if (!complete) {
      inner = mini_debug_info(*file);
      if (inner != nullptr) add(*inner);
      only_dynamic = inner == nullptr && table.has_code();
    } else {
      // Cut down to what it exports (Bun's is): no more than a stripped file has.
      const bool exports = file->section(".dynsym", SHT_DYNSYM) != nullptr;
      only_dynamic = exports && table.has_code() && !table.has_local_code();
    }
  }
  has_functions = table.has_code();
  table.add_plt(*file);
  table.finish();
  if (left.empty() && table.cut()) left = "it has more symbols than are read";
  if (left.empty() && WorkLimit::over()) left = "no time was left to read all of its symbols";
}

DwarfFrames* ElfImage::State::debug_information() {
  if (std::exchange(looked_for_debug_information, true)) return frames.get();
  std::unique_ptr<ElfFile> file;
  if (!memory.empty()) {
    auto opened = ElfFile::from_memory(memory, path);
    if (opened) file = std::move(*opened);
  } else {
    auto opened = ElfFile::open(path, root);
    // The file may have been replaced since.
    if (opened && same_file((*opened)->status(), status) &&
        same_build_id((*opened)->build_id(), build_id)) {
      file = std::move(*opened);
    }
  }
  if (file == nullptr) return nullptr;
  if (file->filled_section(".debug_info") == nullptr && file->fd() >= 0) {
    if (auto found = find_debug_file(*file, options, ".debug_info", left)) file = std::move(found);
  }
  frames = DwarfFrames::open(std::move(file), options);
  return frames.get();
}

Result<std::unique_ptr<ElfImage>> ElfImage::open(const std::string& path,
                                                 std::span<const std::byte> expected,
                                                 const ElfImageOptions& options) {
  auto state = std::make_unique<State>(options);
  auto opened = ElfFile::open(path, options.root);
  if (!expected.empty() && (!opened || !same_build_id((*opened)->build_id(), expected))) {
    auto right = find_by_build_id(expected, options);
    if (right == nullptr) {
      if (!opened) return fail(std::move(opened.error()));
      const auto& found = (*opened)->build_id();
      return fail(ErrorKind::damaged,
                  fmt::format("has {}, the recording's is {}",
                              found.empty() ? "no build-id" : "build-id " + build_id_text(found),
                              build_id_text(expected)),
                  path,
                  "the file changed since the recording; put the old one under "
                  "~/.debug/.build-id or a debug directory, or allow debuginfod");
    }
    opened = std::move(right);
  }
  if (!opened) return fail(std::move(opened.error()));
  state->load(std::move(*opened));
  return std::unique_ptr<ElfImage>(new ElfImage(std::move(state)));
}

Result<std::unique_ptr<ElfImage>> ElfImage::from_memory(std::vector<std::byte> bytes,
                                                        std::string where,
                                                        const ElfImageOptions& options) {
  auto state = std::make_unique<State>(options);
  JITSCOPE_ASSIGN(auto file, ElfFile::from_memory(bytes, std::move(where)));
  state->memory = std::move(bytes);
  state->load(std::move(file));
  return std::unique_ptr<ElfImage>(new ElfImage(std::move(state)));
}

std::optional<uint64_t> ElfImage::address_of_offset(uint64_t file_offset) const {
  for (const Segment& place : state_->places) {
    if (file_offset < place.offset || file_offset - place.offset >= place.file_size) continue;
    return place.address + (file_offset - place.offset);
  }
  return std::nullopt;
}

std::optional<SymbolHit> ElfImage::symbol_at(uint64_t address) const {
  return state_->table.at(address);
}

void ElfImage::narrow(uint64_t file_offset, uint64_t& low, uint64_t& high) const {
  for (const Segment& place : state_->places) {
    if (place.file_size == 0) continue;
    const uint64_t last = place.offset + (place.file_size - 1);
    if (file_offset < place.offset) {
      high = std::min(high, place.offset - 1);  // of segments that overlap the first one answers
    } else if (file_offset > last) {
      low = std::max(low, last + 1);
    } else {
      low = std::max(low, place.offset);
      high = std::min(high, last);
      const uint64_t bias = place.address - place.offset;
      uint64_t first_address = 0;
      uint64_t last_address = UINT64_MAX;
      state_->table.narrow(file_offset + bias, first_address, last_address);
      const uint64_t address = file_offset + bias;
      low = std::max(low, file_offset - std::min(address - first_address, file_offset));
      high =
          std::min(high, file_offset + std::min(last_address - address, UINT64_MAX - file_offset));
      return;
    }
  }
}

std::vector<SourceFrame> ElfImage::source_frames(uint64_t address) const {
  DwarfFrames* frames = state_->debug_information();
  if (frames == nullptr) return {};
  auto result = frames->at(address);
  // Assembler code and the like: the symbol names what DWARF does not.
  if (!result.empty() && result.back().function.empty()) {
    if (const auto hit = symbol_at(address)) result.back().function = hit->name;
  }
  return result;
}

CodeScopes ElfImage::scopes(uint64_t begin, uint64_t end) const {
  DwarfFrames* frames = state_->debug_information();
  return frames == nullptr ? CodeScopes() : frames->scopes(begin, end);
}

const BuildIdBytes& ElfImage::build_id() const {
  return state_->build_id;
}
bool ElfImage::has_symbols() const {
  return state_->has_functions;
}
bool ElfImage::only_dynamic() const {
  return state_->only_dynamic;
}
const std::string& ElfImage::left_out() const {
  return state_->left;
}
const std::string& ElfImage::symbol_file() const {
  return state_->symbol_file;
}

}  // namespace jitscope
