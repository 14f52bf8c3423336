#include "inject/images.h"

#include "arch/machine.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/printable.h"
#include "formats/jitdump/code_scopes.h"
#include "naming/frame_name.h"
#include "naming/jit_name.h"
#include "unwind/frame_pointer_table.h"

namespace jitscope {
namespace {

constexpr std::string_view kAnchorName = "[start of the image]";

std::string text_of(const Frame& frame) {
  std::string text = symbol_text(frame);
  if (frame.ambiguous) text += '?';
  return text;
}

class NeededImages {
 public:
  NeededImages(const InjectPlan& plan, Resolver& resolver) : plan_(plan), resolver_(resolver) {}

  Status create(std::vector<InjectImageFile>& files, const CodeImageOptions& like);
  // Without what a dump says when `load` is null.
  Status add(uint32_t number, const jitdump::Header* header, const jitdump::Load* load);
  Result<std::vector<WrittenImage>> finish();
  [[nodiscard]] uint64_t bad_tables() const { return bad_tables_; }

 private:
  const InjectPlan& plan_;
  Resolver& resolver_;
  std::vector<CodeImage> images_;
  CodeScopes scopes_;
  std::vector<UnwindTable> tables_;
  uint64_t bad_tables_ = 0;
};

Status NeededImages::create(std::vector<InjectImageFile>& files, const CodeImageOptions& like) {
  for (size_t i = 0; i < files.size(); ++i) {
    CodeImageOptions options = like;
    options.layout = CodeImageOptions::Layout::mapped;
    options.title = files[i].title;
    JITSCOPE_ASSIGN(auto image, CodeImage::create(std::move(files[i].fd), std::move(options)));
    images_.push_back(std::move(image));
    const PlannedImage& planned = plan_.images()[i];
    if (planned.anchor_place == 0) continue;
    // Where the first code of the image lies in memory is what unwinders reckon with.
    const std::vector<std::byte> code(InjectPlan::kAnchorSize, machine::trap_byte);
    ImageBody anchor;
    anchor.address = planned.base + planned.anchor_place;
    anchor.size = code.size();
    anchor.place = planned.anchor_place;
    anchor.name = kAnchorName;
    anchor.code = code;
    JITSCOPE_TRY(images_.back().add(anchor));
  }
  return {};
}

Status NeededImages::add(uint32_t number, const jitdump::Header* header,
                         const jitdump::Load* load) {
  const PlannedCode& code = plan_.code(number);
  std::string name;
  std::string full_name;
  if (code.frame != PlannedCode::kNoFrame) {
    const Frame& frame = resolver_.frames()[code.frame];
    name = text_of(frame);
    append_printable(full_name, frame.method);
  } else {
    const std::string_view raw =
        load != nullptr ? load->name : code.dump->timeline.body(code.body).name;
    const JitName parsed = jit_name(Runtime::unknown, raw, code.dump->recorded);
    append_printable(name, parsed.raw);
    append_printable(full_name, parsed.method);
  }
  ImageBody body;
  body.address = code.start;
  body.size = code.size;
  body.place = code.place;
  body.name = name;
  body.full_name = full_name;
  if (load != nullptr) {
    if (load->code.size() == code.size) body.code = load->code;
    scopes_ = jitdump::scopes_of(*load, jitdump::v8_line_bias(*header, *load));
    if (!scopes_.ranges.empty()) body.scopes = &scopes_;
    if (plan_.images()[code.image].tables_place != 0 && !code.packed) {
      tables_ = unwind_of_load(*load, bad_tables_);
      body.unwind = tables_;
    }
  }
  if (load == nullptr && code.bytes.size() == code.size) {
    body.code = code.bytes;
    if (code.dump == nullptr && code.jit != 0) {
      scopes_ = resolver_.scopes_of(code.jit);
      if (!scopes_.ranges.empty()) body.scopes = &scopes_;
    }
  }
  return images_[code.image].add(body);
}

Result<std::vector<WrittenImage>> NeededImages::finish() {
  std::vector<WrittenImage> result;
  for (size_t i = 0; i < images_.size(); ++i) {
    const PlannedImage& planned = plan_.images()[i];
    WrittenImage written;
    const uint64_t size = images_[i].unwind_size();
    written.tables = size != 0 && planned.tables_place != 0 && size <= planned.tables_room;
    JITSCOPE_ASSIGN(written.summary, images_[i].finish(written.tables ? planned.tables_place : 0));
    result.push_back(std::move(written));
  }
  return result;
}

// One dump, read for the bodies that are needed: its n-th load is body n.
class NeededLoads final : public jitdump::Handler {
 public:
  // `needed`: (load, code), sorted.
  NeededLoads(NeededImages& images, const std::vector<std::pair<BodyId, uint32_t>>& needed)
      : images_(images), needed_(needed) {}
  void begin(const jitdump::Header& header) { header_ = &header; }

  bool on_load(const jitdump::Load& load) override {
    for (; next_ < needed_.size() && needed_[next_].first == number_; ++next_) {
      status = images_.add(needed_[next_].second, header_, &load);
      if (!status) return false;
    }
    ++number_;
    return next_ < needed_.size();
  }
  bool on_move(const jitdump::Move& /*move*/) override { return true; }
  // How many of `needed` were found.
  [[nodiscard]] size_t found() const { return next_; }

  Status status;

 private:
  NeededImages& images_;
  const std::vector<std::pair<BodyId, uint32_t>>& needed_;
  const jitdump::Header* header_ = nullptr;
  size_t next_ = 0;
  BodyId number_ = 0;
};

// A body that a MOVE made is the load of the same name and size that was the last one by then.
void find_origins(const LoadedDump& dump, const InjectPlan& plan,
                  const std::vector<uint32_t>& moved,
                  std::vector<std::pair<BodyId, uint32_t>>& needed) {
  if (moved.empty()) return;
  std::unordered_map<std::string_view, std::vector<BodyId>> by_name;
  for (const uint32_t number : moved) by_name[dump.timeline.body(plan.code(number).body).name];
  for (BodyId id = 0; id < dump.loads && id < dump.timeline.size(); ++id) {
    const auto found = by_name.find(dump.timeline.body(id).name);
    if (found != by_name.end()) found->second.push_back(id);
  }
  for (const uint32_t number : moved) {
    const TimedBody& body = dump.timeline.body(plan.code(number).body);
    BodyId origin = kNoBody;
    for (const BodyId id : by_name[body.name]) {
      const TimedBody& load = dump.timeline.body(id);
      if (load.size == body.size && load.from <= body.from) origin = id;
    }
    needed.emplace_back(origin, number);  // kNoBody comes last and is never reached
  }
}

// The dump once more, with an offset of its own.
Result<std::unique_ptr<jitdump::Reader>> reopen(const LoadedDump& dump, bool unwind) {
  UniqueFd fd(
      ::open(fmt::format("/proc/self/fd/{}", dump.file.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(system_error("cannot be read again", dump.shown));
  JITSCOPE_ASSIGN(auto source, byte_source(std::move(fd), dump.shown));
  jitdump::ReadOptions options;
  options.unwind = unwind;
  return jitdump::Reader::open(std::move(source), options);
}

}  // namespace

Result<std::vector<WrittenImage>> write_images(const InjectPlan& plan, Resolver& resolver,
                                               std::vector<InjectImageFile>& files,
                                               const CodeImageOptions& like,
                                               std::vector<std::string>& notes) {
  NeededImages images(plan, resolver);
  JITSCOPE_TRY(images.create(files, like));
  std::vector<const LoadedDump*> dumps;
  std::unordered_map<const LoadedDump*, std::vector<uint32_t>> of_dump;
  bool unwind = false;
  for (const PlannedImage& image : plan.images()) unwind = unwind || image.tables_place != 0;
  for (uint32_t number = 0; number < plan.codes().size(); ++number) {
    const LoadedDump* dump = plan.code(number).dump;
    if (dump == nullptr) {
      JITSCOPE_TRY(images.add(number, nullptr, nullptr));
      continue;
    }
    std::vector<uint32_t>& codes = of_dump[dump];
    if (codes.empty()) dumps.push_back(dump);
    codes.push_back(number);
  }
  for (const LoadedDump* dump : dumps) {
    std::vector<std::pair<BodyId, uint32_t>> needed;
    std::vector<uint32_t> moved;
    for (const uint32_t number : of_dump[dump]) {
      const BodyId body = plan.code(number).body;
      if (body < dump->loads) {
        needed.emplace_back(body, number);
      } else {
        moved.push_back(number);
      }
    }
    find_origins(*dump, plan, moved, needed);
    std::ranges::sort(needed);
    NeededLoads handler(images, needed);
    auto reader = reopen(*dump, unwind);
    if (reader) {
      handler.begin((*reader)->header());
      const Status read = (*reader)->read(handler);
      JITSCOPE_TRY(handler.status);
      if (!read) notes.push_back(to_string(read.error()));
    } else {
      notes.push_back(to_string(reader.error()));
    }
    if (handler.found() < needed.size()) {
      notes.push_back(fmt::format("{} bodies of {} have a name but no bytes",
                                  needed.size() - handler.found(), dump->shown));
    }
    for (size_t i = handler.found(); i < needed.size(); ++i) {
      JITSCOPE_TRY(images.add(needed[i].second, nullptr, nullptr));
    }
  }
  if (images.bad_tables() != 0) {
    notes.push_back(
        fmt::format("{} bodies have unwind tables that cannot be read", images.bad_tables()));
  }
  return images.finish();
}

}  // namespace jitscope
