#include "inject/mender.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace jitscope {

Status PerfViewMender::show(InjectSample& at, LocationId id, uint32_t code) {
  const ProcessLife& life = *at.sample.thread.process;
  AddressRange range = session_.span(id).range;
  const PlannedCode& planned = plan_.code(code);
  uint64_t start = planned.start;
  uint64_t end = planned.start + planned.size;
  // An entry that a stack returns to without a call before it: perf asks for the entry itself.
  if (range.low + 1 == start && range.high == range.low) range = {start, start};
  if (range.low < start || range.low >= end) return {};
  const uint64_t high = std::min(range.high, end - 1);
  if (at.view.shows(range.low, high, code)) return {};
  // The whole body, as far as it lies in what the process has mapped there: in one piece, or in
  // more that were told one after the other.
  const MappedRange* first = life.space.at(range.low);
  const MappedRange* last = life.space.at(high);
  const bool whole = first != nullptr && last != nullptr && !at.narrow;
  start = std::max(start, whole ? first->start : range.low);
  end = std::min(end, whole ? last->end : high + 1);
  if (plan_.tables() && !at.view.has_tables(planned.image)) {
    JITSCOPE_TRY(add_tables(at, planned.image));
  }
  perfdata::Mmap mmap;
  mmap.start = start;
  mmap.length = end - start;
  JITSCOPE_ASSIGN(const InjectImageFile* file, image_file(planned.image, life));
  mmap.path = file->path;
  const MappingPatch patch{0, start - planned.start, code, MappingPatch::Kind::code};
  JITSCOPE_TRY(writer_.add_mapping(at.sample.sample, mmap, &patch));
  const uint64_t before = at.view.changed();
  const bool memory = first != nullptr && first->memory && last != nullptr && last->memory;
  at.view.show(start, end, code, !memory);
  at.settled.view_changed(before, at.view.changed(), start, end);
  return {};
}

Status PerfViewMender::hide(InjectSample& at, LocationId id) {
  const AddressRange range = session_.span(id).range;
  for (const auto& [start, piece] : at.view.pieces(range.low, range.high)) {
    const MappedRange* mapping = at.sample.thread.process->space.at(start);
    perfdata::Mmap mmap;
    mmap.start = start;
    mmap.length = piece.end - start;
    mmap.path = "//anon";
    if (mapping != nullptr) {
      const MappedFileInfo& file = session_.files().info(mapping->file);
      if (!file.path.empty()) mmap.path = file.path;
      mmap.page_offset = mapping->page_offset + (start - mapping->start);
    }
    JITSCOPE_TRY(writer_.add_mapping(at.sample.sample, mmap, nullptr));
    const uint64_t before = at.view.changed();
    at.view.cover(start, piece.end);
    at.settled.view_changed(before, at.view.changed(), start, piece.end);
  }
  return {};
}

Status PerfViewMender::add_tables(InjectSample& at, uint32_t image) {
  perfdata::Mmap mmap;
  JITSCOPE_ASSIGN(const InjectImageFile* file, image_file(image, *at.sample.thread.process));
  mmap.path = file->path;
  for (const auto kind : {MappingPatch::Kind::anchor, MappingPatch::Kind::tables}) {
    const MappingPatch patch{0, 0, image, kind};
    JITSCOPE_TRY(writer_.add_mapping(at.sample.sample, mmap, &patch));
  }
  at.view.set_tables(image);
  return {};
}

Result<const InjectImageFile*> PerfViewMender::image_file(uint32_t image, const ProcessLife& life) {
  if (files_.size() <= image) files_.resize(image + size_t{1});
  InjectImageFile& file = files_[image];
  if (!file.path.empty()) return &file;
  const PlannedImage& planned = plan_.images()[image];
  const std::string more = planned.number > 1 ? fmt::format("-{}", planned.number) : "";
  JITSCOPE_ASSIGN(auto created, output_.new_image(fmt::format("jit-{}{}.so", planned.pid, more)));
  file.path = std::move(created.path);
  file.fd = std::move(created.fd);
  file.title = fmt::format("{} (pid {})", life.comm, planned.pid);
  return &file;
}

}  // namespace jitscope
