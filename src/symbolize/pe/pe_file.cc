// See pe_file.h.
#include "symbolize/pe/pe_file.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "formats/pe/runtime_functions.h"
#include "formats/r2r/r2r_header.h"
#include "symbolize/pe/pe_debug.h"
#include "symbolize/pe/read_part.h"

namespace jitscope {
namespace {

std::vector<std::byte> part_of(int fd, uint64_t offset, uint64_t size) {
  std::vector<std::byte> bytes(size);
  bytes.resize(read_part(fd, offset, bytes));
  return bytes;
}

}  // namespace

Result<std::unique_ptr<PeFile>> PeFile::open(std::shared_ptr<const OpenedFile> file, FilePart part,
                                             std::string name, PeDebugSearch search) {
  const std::vector<std::byte> head =
      part_of(file->fd.get(), part.offset, std::min<uint64_t>(part.size, PeHeaders::kHead));
  std::unique_ptr<PeFile> out(new PeFile());
  JITSCOPE_ASSIGN(out->headers_, PeHeaders::parse(head));
  out->file_ = std::move(file);
  out->part_ = part;
  out->name_ = std::move(name);
  out->search_ = std::move(search);
  return out;
}

PeFile::~PeFile() = default;

void PeFile::load() {
  if (loaded_) return;
  loaded_ = true;
  const auto whole = static_cast<uint64_t>(file_->status.st_size);
  if (const std::string why = why_too_large(file_->status, uint64_t{8} << 30U);
      !why.empty() || part_.size > kMostBytes || part_.offset > whole) {
    why_not_ = !why.empty() ? why : fmt::format("an image of {} bytes is not read", part_.size);
    file_.reset();
    return;
  }
  bytes_ =
      std::make_shared<std::vector<std::byte>>(part_of(file_->fd.get(), part_.offset, part_.size));
  file_.reset();
  auto image = PeImage::parse(*bytes_);
  if (!image) {
    why_not_ = to_string(image.error());
    return;
  }
  image_ = std::move(*image);
  if (const auto header = R2rHeader::read(*image_)) kind_ = header->kind;
  if (kind_ == R2rKind::ready_to_run || kind_ == R2rKind::composite ||
      kind_ == R2rKind::component) {
    auto r2r = R2rImage::read(*image_, bytes_);
    if (r2r) {
      r2r_ = std::move(*r2r);
      return;
    }
    why_not_ = to_string(r2r.error());
  } else if (kind_ == R2rKind::il_only) {
    why_not_ = std::string(jitscope::describe(kind_));
    return;
  }
  if (image_->headers().machine != PeMachine::x86_64) {
    why_not_ = image_->headers().machine == PeMachine::x86
                   ? "a 32-bit image: only those for x86-64 are read"
                   : "an image for another machine than x86-64";
    return;
  }
  symbols_ = PeSymbols::of(*image_);
  if (const PeDebugFile* debug = symbols_->has_coff() ? nullptr : debug_file()) {
    symbols_ = PeSymbols::of(*image_, &debug->image);
  }
  for (const Error& damage : symbols_->damage()) {
    if (why_not_.empty()) why_not_ = to_string(damage);
  }
}

PeDebugFile* PeFile::debug_file() {
  if (!debug_file_tried_ && image_) {
    debug_file_tried_ = true;
    if (const auto& link = debug_entries().debug_link) {
      debug_file_ = find_pe_debug_file(*image_, *link, search_, debug_file_left_);
    }
  }
  return debug_file_.get();
}

std::optional<PeName> PeFile::at(uint32_t rva) {
  load();
  PeName out;
  if (r2r_) {
    const auto index = r2r_->method_at(rva);
    if (!index) return std::nullopt;
    const R2rMethod& method = r2r_->methods()[*index];
    out.start = method.start;
    out.size = method.end - method.start;
    if (auto name = r2r_->name(*index)) {
      out.raw = std::move(name->full);
      out.source = PeNameSource::ready_to_run;
    } else {
      out.raw = fmt::format("{}+{:#x}", name_, method.start);
    }
    return out;
  }
  if (!symbols_) return std::nullopt;
  const auto symbol = symbols_->at(rva);
  if (!symbol) return std::nullopt;
  out.start = symbol->start;
  out.size = symbol->size;
  out.part = symbol->part;
  switch (symbol->kind) {
    case PeNameKind::symbol:
      out.source = PeNameSource::symbol;
      break;
    case PeNameKind::nearest_export:
      out.source = PeNameSource::nearest_export;
      break;
    case PeNameKind::bounds:
      out.raw = fmt::format("{}+{:#x}", name_, symbol->start);
      return out;
  }
  out.raw = symbol->name;
  return out;
}

bool PeFile::has_functions() {
  load();
  return (r2r_ && !r2r_->methods().empty()) || (symbols_ && symbols_->size() != 0);
}

Status PeFile::for_each_function(const std::function<Status(PeName)>& visit) {
  load();
  if (r2r_) {
    for (const R2rMethod& method : r2r_->methods()) {
      if (auto name = at(method.start)) JITSCOPE_TRY(visit(std::move(*name)));
    }
    return {};
  }
  std::vector<uint32_t> starts;
  if (symbols_) symbols_->for_each([&](const PeSymbol& symbol) { starts.push_back(symbol.start); });
  for (const uint32_t start : starts) {
    if (auto name = at(start)) JITSCOPE_TRY(visit(std::move(*name)));
  }
  return {};
}

std::span<const std::byte> PeFile::code(uint32_t rva, uint32_t size) {
  load();
  return image_ ? image_->bytes(rva, size) : std::span<const std::byte>();
}

const std::string& PeFile::why_not() {
  load();
  return why_not_;
}

std::string PeFile::describe() {
  load();
  if (r2r_) {
    const R2rHeader& header = r2r_->header();
    return fmt::format("{} {}.{}, {} methods", jitscope::describe(kind_), header.major,
                       header.minor, r2r_->methods().size());
  }
  if (!symbols_) return why_not_;
  std::string kind;
  if (kind_ == R2rKind::ngen) kind = "compiled by NGEN, ";
  if (symbols_->has_coff()) {
    return debug_file_ == nullptr
               ? fmt::format("{}COFF symbols", kind)
               : fmt::format("{}COFF symbols, with its debug file {}", kind, debug_file_->path);
  }
  return fmt::format("{}no symbols, {} exports, bounds of {} functions", kind, symbols_->exports(),
                     symbols_->size());
}

std::string PeFile::advice() {
  load();
  if (r2r_ || (symbols_ && symbols_->has_coff()) || !image_) return "";
  if (kind_ == R2rKind::ngen) return "NGEN's names are in its own metadata, which is not read";
  const PeDebugEntries& debug = debug_entries();
  if (!debug_file_left_.empty()) return debug_file_left_;
  if (debug.debug_link) {
    return fmt::format("put its debug file {} beside it, or into .debug/ there",
                       debug.debug_link->name);
  }
  if (debug.code_view && !debug.code_view->path.empty()) {
    return fmt::format("its symbols are in {}: PDB files are not read, give a map: --map FILE={}",
                       debug.code_view->path, name_);
  }
  return fmt::format("build it without -s, or give its symbols with --map FILE={}", name_);
}

ElfImage* PeFile::dwarf(const ElfImageOptions& options) {
  load();
  if (!dwarf_tried_) {
    dwarf_tried_ = true;
    std::vector<std::byte> elf = image_ && symbols_ ? debug_elf(*image_) : std::vector<std::byte>();
    if (const PeDebugFile* split = elf.empty() && symbols_ ? debug_file() : nullptr) {
      elf = debug_elf(split->image);
    }
    if (!elf.empty()) {
      if (auto opened = ElfImage::from_memory(std::move(elf), name_, options)) {
        dwarf_ = std::move(*opened);
      }
    }
  }
  return dwarf_.get();
}

std::vector<SourceFrame> PeFile::source_frames(uint32_t rva, const ElfImageOptions& options) {
  const ElfImage* known = dwarf(options);
  if (known == nullptr) return {};
  return known->source_frames(headers_.image_base + rva);
}

CodeScopes PeFile::scopes(uint32_t rva, uint32_t size, const ElfImageOptions& options) {
  const ElfImage* known = dwarf(options);
  const uint64_t begin = headers_.image_base + rva;
  if (known == nullptr || begin + size < begin) return {};
  return known->scopes(begin, begin + size);
}

const R2rImage* PeFile::ready_to_run() {
  load();
  return r2r_ ? &*r2r_ : nullptr;
}

const PeSymbols* PeFile::symbols() {
  load();
  return symbols_ ? &*symbols_ : nullptr;
}

const PeDebugEntries& PeFile::debug_entries() {
  load();
  if (!debug_) debug_ = image_ ? PeDebugEntries::parse(*image_) : PeDebugEntries();
  return *debug_;
}

std::vector<uint32_t> PeFile::function_starts() {
  load();
  std::vector<uint32_t> starts;
  if (r2r_) {
    for (const R2rMethod& method : r2r_->methods()) starts.push_back(method.start);
  } else if (image_) {
    if (const auto functions = RuntimeFunctions::parse(*image_)) {
      for (const RuntimeFunction& each : functions->all()) starts.push_back(each.begin);
    }
    if (symbols_) {
      symbols_->for_each([&](const PeSymbol& symbol) { starts.push_back(symbol.start); });
    }
  }
  std::ranges::sort(starts);
  const auto again = std::ranges::unique(starts);
  starts.erase(again.begin(), again.end());
  return starts;
}

std::span<const std::byte> PeFile::bytes() {
  load();
  return bytes_ ? std::span<const std::byte>(*bytes_) : std::span<const std::byte>();
}

}  // namespace jitscope
