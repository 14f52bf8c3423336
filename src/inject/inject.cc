// inject() itself, and what an Injector does when all is read; see inject.h.
#include "inject/inject.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "formats/perfdata/format.h"
#include "inject/injector.h"

namespace jitscope {
namespace {

constexpr uint64_t kPage = 4096;
// Features that say where something lies in the input, or how it was packed there.
constexpr uint8_t kAuxTrace = 18;
constexpr uint8_t kDirectory = 24;

}  // namespace

// `record`: as much of it as has the places of mappings.
void Injector::fill_in(const Patch& patch, std::span<std::byte> record,
                       const std::vector<WrittenImage>& images) const {
  const auto put = [record](size_t offset, uint64_t value) {
    std::memcpy(record.data() + offset, &value, sizeof(value));
  };
  if (patch.kind == Patch::Kind::code) {
    put(perfdata::kMmapOffset, plan_.code(patch.number).place + patch.delta);
    return;
  }
  const PlannedImage& planned = plan_.images()[patch.number];
  const WrittenImage& image = images[patch.number];
  uint64_t place = planned.anchor_place;
  uint64_t length = InjectPlan::kAnchorSize;
  // Without tables the second mapping is the first one once more.
  if (patch.kind == Patch::Kind::tables && image.tables) {
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

// Those that lie near each other in the output are filled in together.
Status Injector::patch(const std::vector<WrittenImage>& images) {
  constexpr size_t size = perfdata::kMmapOffset + sizeof(uint64_t);
  constexpr uint64_t near = 1024;
  constexpr uint64_t most = 256U << 10U;
  std::ranges::sort(patches_, {}, &Patch::offset);
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < patches_.size();) {
    const uint64_t first = patches_[i].offset;
    size_t end = i + 1;
    for (; end < patches_.size(); ++end) {
      const uint64_t next = patches_[end].offset;
      if (next - patches_[end - 1].offset > near || next - first > most) break;
    }
    bytes.resize(patches_[end - 1].offset + size - first);
    JITSCOPE_TRY(output_.read(first, bytes));
    for (; i < end; ++i) {
      fill_in(patches_[i], std::span(bytes).subspan(patches_[i].offset - first, size), images);
    }
    JITSCOPE_TRY(output_.overwrite(first, bytes));
  }
  return {};
}

void Injector::set_features(const std::vector<WrittenImage>& images) {
  using perfdata::Feature;
  constexpr auto compressed = static_cast<uint8_t>(Feature::compressed);
  constexpr auto build_id = static_cast<uint8_t>(Feature::build_id);
  std::string ids;
  for (const auto& [bit, bytes] : session_.header().raw_features) {
    if (bit == compressed || bit == kAuxTrace || bit == kDirectory) continue;
    std::string payload(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (bit == build_id) {
      ids = std::move(payload);
    } else {
      writer_.set_feature(bit, std::move(payload));
    }
  }
  for (size_t i = 0; i < images.size(); ++i) {
    ids += perfdata::build_id_entry(-1, false, images[i].summary.build_id, files_[i].path);
  }
  if (!ids.empty()) writer_.set_feature(Feature::build_id, std::move(ids));
}

void Injector::tell(const std::vector<WrittenImage>& images) {
  for (size_t i = 0; i < images.size(); ++i) {
    const ImageSummary& written = images[i].summary;
    const uint64_t anchor = plan_.images()[i].anchor_place != 0 ? 1 : 0;
    summary_.images.push_back(
        {files_[i].path, written.bodies - anchor, written.with_bytes - anchor, written.file_bytes});
    if (tables_ && anchor == 0) {
      summary_.notes.push_back(fmt::format(
          "{}: no room for unwind tables near the code: stacks end there", files_[i].path));
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
  if (!begin() || !end_round()) return fail(std::move(status_.error()));
  const auto& events = session_.header().events;
  if (attributes_ < events.size()) {
    for (const perfdata::EventInfo& event : events) {
      if (event.raw.size() <= attr_bytes_) continue;
      return fail(ErrorKind::not_possible,
                  "an event attribute that came late is longer than those before");
    }
    JITSCOPE_TRY(writer_.add_attributes(attributes(attributes_)));
  }
  if (options_.all) plan_.need_all();
  plan_.settle();
  CodeImageOptions like;
  like.dwarf = options_.dwarf;
  like.source_folder = options_.source_folder;
  JITSCOPE_ASSIGN(const std::vector<WrittenImage> images,
                  write_images(plan_, session_.resolver().frames(), files_, like, summary_.notes));
  JITSCOPE_TRY(patch(images));
  set_features(images);
  JITSCOPE_TRY(writer_.finish());
  tell(images);
  return std::move(summary_);
}

Result<InjectSummary> inject(const std::string& input, const InjectOptions& options) {
  SessionOptions session_options;
  session_options.naming = options.naming;
  session_options.keep_raw = true;
  // A body is one place, whatever was inlined into it: its image tells of that.
  session_options.naming.inlined = false;
  session_options.naming.jit_inlined = false;
  session_options.naming.lines = false;
  session_options.naming.jit_only = true;
  JITSCOPE_ASSIGN(auto session, Session::open(input, session_options));
  const std::string folder = options.folder.empty() ? options.output + ".images" : options.folder;
  JITSCOPE_ASSIGN(auto output, InjectOutput::create(input, options.output, folder, options.force));
  Injector injector(*session, output, options);
  const Status read = session->run(injector);
  if (!injector.status()) return fail(Error(injector.status().error()).at(input));
  JITSCOPE_TRY(read);
  JITSCOPE_ASSIGN(InjectSummary summary, injector.finish());
  JITSCOPE_TRY(output.keep());
  return summary;
}

}  // namespace jitscope
