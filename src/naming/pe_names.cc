// See pe_names.h.
#include "naming/pe_names.h"

#include <algorithm>
#include <utility>

#include "naming/jit_name.h"
#include "naming/source_frames.h"
#include "symbolize/demangle.h"

namespace jitscope {
namespace {

NameSource source_of(PeNameSource source) {
  switch (source) {
    case PeNameSource::ready_to_run:
      return NameSource::ready_to_run;
    case PeNameSource::symbol:
      return NameSource::pe_symbol;
    case PeNameSource::nearest_export:
      return NameSource::pe_export;
    case PeNameSource::bounds:
      break;
  }
  return NameSource::pe_bounds;
}

}  // namespace

Frame PeNames::frame_of(const PePlace& place, PeName name) const {
  const MappedFileInfo& file = context_.files.info(place.file);
  Frame frame;
  frame.source = source_of(name.source);
  if (name.source == PeNameSource::ready_to_run) {
    JitName jit = jit_name(Runtime::dotnet, name.raw, false);
    frame.method = std::move(jit.method);
    frame.raw = std::move(jit.raw);
    frame.tier = jit.tier;
    frame.kind = jit.kind;
  } else {
    frame.method = options_.demangle ? demangle(name.raw) : name.raw;
    frame.raw = std::move(name.raw);
    frame.kind = FrameKind::native;
  }
  frame.dso = place.image->name();
  frame.dso_path = place.in_bundle ? file.shown + "!" + place.image->name() : file.shown;
  frame.place = FramePlace::file;
  return frame;
}

Resolution PeNames::without_name(Question& question, const PePlace& place, NoName why) {
  question.reach.narrow(question.lookup, question.lookup);
  if (is_of_given_map(question.why)) why = question.why;
  const MappedFileInfo& file = context_.files.info(place.file);
  Resolution out =
      tables_.nameless(question.query, why, FramePlace::file,
                       place.image != nullptr ? place.image->name() : file.base, file.shown);
  return out;
}

std::optional<Resolution> PeNames::answer(Question& question) {
  const auto place = images_.at(question);
  if (!place) return std::nullopt;
  if (place->image == nullptr) return without_name(question, *place, place->why);
  WorkBudget& budget = context_.files.budget();
  if (!place->image->asked() && budget.spent()) {
    return without_name(question, *place, NoName::no_time_left);
  }
  const WorkBudget::Piece piece(budget);
  auto name = place->image->at(place->rva);
  if (!name) {
    // Of no function: thunks through which ReadyToRun code calls, padding, data.
    if (!place->image->why_not().empty()) {
      return without_name(question, *place, NoName::image_not_read);
    }
    if (place->image->has_functions()) {
      return without_name(question, *place, NoName::no_function_of_image);
    }
    // It knows of no function: a loader of its own may have written a perf map of it.
    question.reach.narrow(question.lookup, question.lookup);
    return std::nullopt;
  }
  const AddressQuery& query = question.query;
  const uint64_t inside = place->rva - name->start;
  const bool with_source = options_.lines || options_.inlined;
  if (with_source) {
    question.reach.narrow(question.lookup, question.lookup);
  } else {
    const uint64_t behind = name->size > inside ? name->size - inside - 1 : 0;
    question.reach.narrow(question.lookup - std::min(inside, question.lookup),
                          question.lookup + std::min(behind, UINT64_MAX - question.lookup));
  }
  Resolution out;
  out.named = true;
  Location& location = out.location;
  const MappedRange& range = question.range;
  location.shown_ip = range.memory ? query.ip : range.file_offset(query.ip);
  location.symbol_offset = inside + (query.ip - question.lookup);
  const uint64_t start = query.ip - location.symbol_offset;
  const uint32_t size = name->size;
  const uint32_t name_start = name->start;
  const auto [made, fresh] = made_.try_emplace(MadeKey{place->image, name->start, 0, place->file});
  if (fresh || with_source) {
    Frame frame = frame_of(*place, std::move(*name));
    if (with_source) {
      add_source_frames(
          context_, options_, tables_,
          [&] { return place->image->source_frames(place->rva, context_.files.elf_options()); },
          frame, location);
    }
    made->second.frame = tables_.frames().number(std::move(frame));
    made->second.dso = tables_.dso_number(context_.files.info(place->file).shown);
  }
  location.frame = made->second.frame;
  location.dso = made->second.dso;
  location.jit =
      tables_.jit_number(place->image, start,
                         {nullptr, kNoBody, start, size, location.frame,
                          place->image->code(name_start, size), place->image, name_start});
  return out;
}

std::optional<Resolution> PeWithoutNames::answer(Question& question) {
  const auto place = images_.at(question);
  if (!place) return std::nullopt;
  return names_.without_name(question, *place, NoName::no_map_of_file);
}

}  // namespace jitscope
