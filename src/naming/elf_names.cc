#include "naming/elf_names.h"

#include <algorithm>
#include <utility>

#include "naming/source_frames.h"

namespace jitscope {

std::optional<Resolution> ElfNames::answer(Question& question) {
  if (question.in_memory() || question.special()) return std::nullopt;
  const uint32_t file = question.range.file;
  if (options_.jit_only) {
    if (!context_.files.is_elf(file)) return std::nullopt;
    return tables_.nameless(question.query, NoName::not_looked_for_elf, FramePlace::file,
                            question.file.base, question.file.shown);
  }
  Resolution out;
  if (name(question, out)) return out;
  if (!context_.files.is_elf(file)) return std::nullopt;
  Resolution result = tables_.nameless(question.query, question.why, FramePlace::file,
                                       question.file.base, question.file.shown);
  result.location.shown_ip = out.location.shown_ip;
  return result;
}

bool ElfNames::name(Question& question, Resolution& out) {
  const MappedRange& range = question.range;
  const AddressQuery& query = question.query;
  uint64_t lookup = question.lookup;
  const MappedContents& opened = context_.files.open(range.file);
  out.location.shown_ip = range.file_offset(query.ip);
  if (opened.image == nullptr) {
    if (!is_of_given_map(question.why)) question.why = opened.reason;
    return false;
  }
  auto address = opened.image->address_of_offset(range.file_offset(lookup));
  auto hit = address ? opened.image->symbol_at(*address) : std::nullopt;
  if (hit && !options_.inlined && !options_.lines) {
    const uint64_t offset = range.file_offset(lookup);
    uint64_t low = 0;
    uint64_t high = UINT64_MAX;
    opened.image->narrow(offset, low, high);
    const uint64_t above = std::min(high - offset, UINT64_MAX - lookup);
    question.reach.narrow(lookup - std::min(offset - low, lookup), lookup + above);
  } else {
    question.reach.narrow(lookup, lookup);
  }
  if (!hit && lookup != query.ip && query.ip < range.end) {
    // No call before it: where a signal handler returns to (__restore_rt), for one.
    lookup = query.ip;
    address = opened.image->address_of_offset(range.file_offset(lookup));
    hit = address ? opened.image->symbol_at(*address) : std::nullopt;
  }
  if (!hit) {
    question.why = !opened.image->left_out().empty() ? NoName::not_all_read
                   : !opened.image->has_symbols()    ? NoName::stripped
                   : opened.image->only_dynamic()    ? NoName::only_exported
                                                     : NoName::no_symbol;
    return false;
  }
  out.location.symbol_offset = *address + (query.ip - lookup) - hit->start;
  out.named = true;
  const bool with_source = options_.inlined || options_.lines;
  MadeKey key;
  key.source = &opened;
  key.place = hit->start;
  const auto [made, fresh] = made_.try_emplace(key);
  if (!fresh && !with_source) {
    out.location.frame = made->second.frame;
    out.location.dso = made->second.dso;
    return true;
  }
  Frame frame;
  frame.method = hit->name;
  frame.raw = hit->raw;
  frame.dso = question.file.base;
  frame.dso_path = question.file.shown;
  frame.place = FramePlace::file;
  frame.kind = FrameKind::native;
  frame.source = question.file.kind == MappingKind::vdso ? NameSource::vdso : NameSource::elf;
  if (with_source) add_source(*opened.image, *address, frame, out.location);
  out.location.frame = tables_.frames().number(std::move(frame));
  out.location.dso = tables_.dso_number(question.file.shown);
  made->second = {out.location.frame, out.location.dso, 0, 0};
  return true;
}

// File and line, and what was inlined at the address.
void ElfNames::add_source(const ElfImage& image, uint64_t address, Frame& frame,
                          Location& location) {
  add_source_frames(
      context_, options_, tables_, [&] { return image.source_frames(address); }, frame, location);
}

}  // namespace jitscope
