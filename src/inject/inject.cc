// inject() itself, and what an Injector does when all is read; see inject.h.
#include "inject/inject.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/page.h"
#include "formats/perfdata/format.h"
#include "inject/injector.h"

namespace jitscope {
namespace {}  // namespace

// `record`: as much of it as has the places of mappings.
void Injector::fill_in(const MappingPatch& patch, std::span<std::byte> record,
                       const std::vector<WrittenImage>& images) const {
  const auto put = [record](size_t offset, uint64_t value) {
    std::memcpy(record.data() + offset, &value, sizeof(value));
  };
  if (patch.kind == MappingPatch::Kind::code) {
    put(perfdata::kMmapOffset, plan_.code(patch.number).place + patch.delta);
    return;
  }
  const PlannedImage& planned = plan_.images()[patch.number];
  const WrittenImage& image = images[patch.number];
  uint64_t place = planned.anchor_place;
  uint64_t length = InjectPlan::kAnchorSize;
  // Without tables the second mapping is the first one once more.
  if (patch.kind == MappingPatch::Kind::tables && image.tables) {
    place = image.summary.unwind_place;
    length = (image.summary.unwind_size + kPage - 1) / kPage * kPage;
  }
  // An image for which there was no room has neither: nothing is mapped, at an address that
  // nobody asks for.
  if (planned.anchor_place == 0) place = length = 0;
  put(perfdata::kMmapStart, length == 0 ? 0 : planned.base + place);
  put(perfdata::kMmapLength, length);
  put(perfdata::kMmapOffset, place);
}

void Injector::tell(const std::vector<WrittenImage>& images) {
  const std::vector<InjectImageFile>& files = mender_.files();
  summary_.mappings = writer_.mappings();
  summary_.jit_samples = checker_.jit_samples();
  summary_.nameless = checker_.nameless();
  for (size_t i = 0; i < images.size(); ++i) {
    const ImageSummary& written = images[i].summary;
    const uint64_t anchor = plan_.images()[i].anchor_place != 0 ? 1 : 0;
    summary_.images.push_back(
        {files[i].path, written.bodies - anchor, written.with_bytes - anchor, written.file_bytes});
    if (plan_.tables() && anchor == 0) {
      summary_.notes.push_back(fmt::format(
          "{}: no room for unwind tables near the code: stacks end there", files[i].path));
    }
  }
  for (const Diagnostics::Entry& entry : session_.diagnostics().entries()) {
    summary_.notes.push_back(to_string(entry));
  }
  for (const std::string& note : session_.sources().notes) summary_.notes.push_back(note);
  if (session_.lost() != 0) {
    summary_.notes.push_back(fmt::format("{} events were lost while recording", session_.lost()));
  }
}

Result<InjectSummary> Injector::finish() {
  JITSCOPE_TRY(begin());
  JITSCOPE_TRY(writer_.end_records());
  if (options_.all) plan_.need_all();
  plan_.settle();
  CodeImageOptions like;
  like.dwarf = options_.dwarf;
  like.source_folder = options_.source_folder;
  std::vector<InjectImageFile>& files = mender_.files();
  JITSCOPE_ASSIGN(const std::vector<WrittenImage> images,
                  write_images(plan_, session_.resolver(), files, like, summary_.notes));
  JITSCOPE_TRY(writer_.fill_in([&](const MappingPatch& patch, std::span<std::byte> record) {
    fill_in(patch, record, images);
  }));
  std::string build_ids;
  for (size_t i = 0; i < images.size(); ++i) {
    build_ids += perfdata::build_id_entry(-1, false, images[i].summary.build_id, files[i].path);
  }
  writer_.set_features(build_ids);
  JITSCOPE_TRY(writer_.finish());
  tell(images);
  return std::move(summary_);
}

Result<InjectSummary> inject(const std::string& input, const InjectOptions& options) {
  SessionOptions session_options;
  session_options.naming = options.naming;
  session_options.keep_raw = true;
  session_options.cores = options.cores;
  session_options.meter = options.meter;
  // A body is one place, whatever was inlined into it: its image tells of that.
  session_options.naming.inlined = false;
  session_options.naming.jit_inlined = false;
  session_options.naming.lines = false;
  session_options.naming.jit_only = true;
  JITSCOPE_ASSIGN(auto session, Session::open(input, session_options));
  const std::string folder = options.folder.empty() ? options.output + ".images" : options.folder;
  JITSCOPE_ASSIGN(auto output, InjectOutput::create(input, options.output, folder, options.force));
  Injector injector(*session, output, options);
  JITSCOPE_TRY(session->scan(injector));
  JITSCOPE_ASSIGN(InjectSummary summary, injector.finish());
  JITSCOPE_TRY(output.keep());
  return summary;
}

}  // namespace jitscope
