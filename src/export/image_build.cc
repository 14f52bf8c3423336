#include "export/image_build.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/byte_cursor.h"
#include "base/byte_source.h"
#include "base/path.h"
#include "capture/record_output.h"
#include "code/display_name.h"
#include "export/image_places.h"
#include "export/live_dump.h"
#include "formats/jitdump/jitdump.h"
#include "formats/perfdata/reader.h"
#include "formats/perfmap/perf_map.h"
#include "naming/jit_name.h"
#include "process/process.h"
#include "process/read_ranges.h"
#include "replay/recording_facts.h"
#include "runtimes/open_source.h"
#include "unwind/frame_pointer_table.h"
#include "unwind/unwind.h"

namespace jitscope {
namespace {

// Code that was moved is in the image once for each place, but in the dump only once.
constexpr uint64_t kMostMovedBytes = 1U << 30U;

Status complete(ImageBuild& build, ImageSet& set) {
  if (build.bodies == 0) {
    return fail(ErrorKind::not_found, "there is no code to write down", build.source);
  }
  JITSCOPE_ASSIGN(build.images, set.finish());
  for (const BuiltImage& image : build.images) build.with_bytes += image.summary.with_bytes;
  return {};
}

// What can be read as a file: a device may never end.
Status refuse_devices(const std::string& path, bool pipes) {
  struct stat status = {};
  if (path == "-" || ::stat(path.c_str(), &status) != 0) return {};
  if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return {};  // the opening tells
  if (pipes && S_ISFIFO(status.st_mode)) return {};
  return fail(ErrorKind::usage, "this is no file", path,
              pipes ? "a perf map is a file or a pipe" : "a jitdump is read twice");
}

// A dump is read twice: which bodies there are and where they go, then their bytes.
struct PlannedBody {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t load = 0;  // the LOAD record that has its bytes
  uint32_t epoch = UINT32_MAX;
};

class DumpPlan : public jitdump::Handler {
 public:
  bool on_load(const jitdump::Load& load) override {
    last_[load.address] = bodies_.size();
    bodies_.push_back({load.address, load.size, loads_++});
    return true;
  }
  bool on_move(const jitdump::Move& move) override {
    const auto from = last_.find(move.old_address);
    if (from == last_.end() || move.new_address == move.old_address) return true;
    const PlannedBody& old = bodies_[from->second];
    if (old.size > kMostMovedBytes - moved_bytes_) {
      ++moved_too_often_;
      return true;
    }
    moved_bytes_ += old.size;
    const PlannedBody moved{move.new_address, old.size, old.load};
    last_.erase(from);
    last_[move.new_address] = bodies_.size();
    bodies_.push_back(moved);
    return true;
  }
  // The last one at an address has the first right to it.
  void plan(bool packed, ImageBuild& build) {
    ImagePlaces places(packed);
    for (size_t i = bodies_.size(); i-- > 0;) {
      const auto epoch = places.place(bodies_[i].address, bodies_[i].size);
      if (epoch) bodies_[i].epoch = *epoch;
    }
    places.note(build.notes);
    note_bodies(build.notes, moved_too_often_,
                "moves that were not followed: together they move too many bytes");
    std::ranges::stable_sort(bodies_, {}, &PlannedBody::load);
  }
  [[nodiscard]] std::span<const PlannedBody> of_load(uint64_t number) const {
    const auto range = std::ranges::equal_range(bodies_, number, {}, &PlannedBody::load);
    return {range.begin(), range.end()};
  }

 private:
  std::vector<PlannedBody> bodies_;
  std::unordered_map<uint64_t, size_t> last_;  // by address
  uint64_t loads_ = 0;
  uint64_t moved_bytes_ = 0;
  uint64_t moved_too_often_ = 0;
};

class DumpWriter : public jitdump::Handler {
 public:
  DumpWriter(const DumpPlan& plan, const jitdump::Header& header, bool recorded, ImageSet& set,
             ImageBuild& build)
      : plan_(plan), header_(header), recorded_(recorded), set_(set), build_(build) {}

  bool on_load(const jitdump::Load& load) override {
    const std::span<const PlannedBody> bodies = plan_.of_load(loads_++);
    if (bodies.empty()) return true;
    const JitName name = jit_name(runtime(), load.name, recorded_);
    const CodeScopes scopes = jitdump::scopes_of(load, jitdump::v8_line_bias(header_, load));
    const std::vector<UnwindTable> unwind = unwind_of_load(load, bad_unwind_);
    for (const PlannedBody& planned : bodies) {
      if (planned.epoch == UINT32_MAX) continue;
      ImageBody body;
      body.address = planned.address;
      body.size = planned.size;
      body.name = without_parameters(name.method);
      if (body.name.size() != name.method.size()) body.alias = name.method;
      body.code = load.code;
      if (!scopes.ranges.empty()) body.scopes = &scopes;
      body.unwind = unwind;
      status_ = set_.add(body, planned.epoch);
      if (!status_) return false;
      ++build_.bodies;
      if (body.scopes != nullptr) ++build_.with_lines;
    }
    return true;
  }
  bool on_move(const jitdump::Move& /*move*/) override { return true; }

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] uint64_t bad_unwind() const { return bad_unwind_; }

 private:
  [[nodiscard]] Runtime runtime() const {
    return header_.pad == 0xdeadbeef ? Runtime::v8 : Runtime::unknown;
  }
  const DumpPlan& plan_;
  const jitdump::Header& header_;
  bool recorded_;
  ImageSet& set_;
  ImageBuild& build_;
  uint64_t loads_ = 0;
  uint64_t bad_unwind_ = 0;
  Status status_;
};

Result<std::unique_ptr<jitdump::Reader>> open_dump(const std::string& path, bool contents) {
  JITSCOPE_TRY(refuse_devices(path, false));
  JITSCOPE_ASSIGN(auto source, open_byte_source(path));
  if (!source->seekable()) {
    return fail(ErrorKind::usage, "a jitdump is read twice: it must be a file", path);
  }
  jitdump::ReadOptions options;
  options.code = options.lines = options.unwind = options.scopes = contents;
  return jitdump::Reader::open(std::move(source), options);
}

// Folders of jitscope record hold these.
bool is_recorded(const std::string& path) {
  const std::filesystem::path file(path);
  return file.parent_path().extension() == ".jit";
}

}  // namespace

std::string_view without_parameters(std::string_view name) {
  // "handle /srv/app.js:1:2", "StubRoutines (1)" and "operator()" are whole; names of methods may
  // have blanks and parentheses of their own ("Type.even (number)(int)").
  const size_t open = open_of_last(name);
  if (open == 0 || open == std::string_view::npos) return name;
  const std::string_view before = name.substr(0, open);
  return before.ends_with(' ') || before.ends_with("operator") ? name : before;
}

Result<ImageBuild> image_of_jitdump(const std::string& path, ImageSetOptions options) {
  ImageBuild build;
  build.source = "jitdump " + path;
  DumpPlan plan;
  JITSCOPE_ASSIGN(auto first, open_dump(path, false));
  JITSCOPE_TRY(first->read(plan));
  plan.plan(options.packed, build);
  if (options.image.title.empty()) {
    options.image.title = fmt::format("JIT code of pid {}", first->header().pid);
  }
  JITSCOPE_ASSIGN(ImageSet set, ImageSet::create(std::move(options)));
  JITSCOPE_ASSIGN(auto second, open_dump(path, true));
  DumpWriter writer(plan, second->header(), is_recorded(path), set, build);
  JITSCOPE_TRY(second->read(writer));
  JITSCOPE_TRY(writer.status());
  for (const Diagnostics::Entry& entry : second->diagnostics().entries()) {
    build.notes.push_back(to_string(entry));
  }
  note_bodies(build.notes, writer.bad_unwind(),
              "bodies with damaged unwind tables, which were left out");
  JITSCOPE_TRY(complete(build, set));
  return build;
}

Result<ImageBuild> image_of_perf_map(const std::string& path, ImageSetOptions options) {
  ImageBuild build;
  build.source = "perf map " + path;
  JITSCOPE_TRY(refuse_devices(path, true));
  JITSCOPE_ASSIGN(auto source, open_byte_source(path));
  Diagnostics diagnostics;
  PerfMapParser parser(path, diagnostics);
  std::vector<PerfMapLine> lines;
  std::string chunk(1U << 20U, '\0');
  while (true) {
    JITSCOPE_ASSIGN(const size_t got, source->read(std::as_writable_bytes(std::span<char>(chunk))));
    if (got == 0) break;
    parser.feed(std::string_view(chunk).substr(0, got), lines);
  }
  parser.finish(lines);
  if (options.image.title.empty()) options.image.title = std::string(base_name(path));
  ImagePlaces places(options.packed);
  JITSCOPE_ASSIGN(ImageSet set, ImageSet::create(std::move(options)));
  // Which of two lines at one address holds, a map does not tell: the later one, and the others in
  // images of their own.
  for (size_t i = lines.size(); i-- > 0;) {
    const PerfMapLine& line = lines[i];
    const auto epoch = places.place(line.address, line.size);
    if (!epoch) continue;
    const JitName name = jit_name(Runtime::unknown, line.name, false);
    ImageBody body;
    body.address = line.address;
    body.size = line.size;
    body.name = without_parameters(name.method);
    if (body.name.size() != name.method.size()) body.alias = name.method;
    JITSCOPE_TRY(set.add(body, *epoch));
    ++build.bodies;
  }
  for (const Diagnostics::Entry& entry : diagnostics.entries()) {
    build.notes.push_back(to_string(entry));
  }
  places.note(build.notes);
  JITSCOPE_TRY(complete(build, set));
  return build;
}

Result<ImageBuild> image_of_process(pid_t pid, const SourceOptions& source_options,
                                    ImageSetOptions options) {
  ImageBuild build;
  JITSCOPE_ASSIGN(const Process process, Process::open(pid));
  const auto opened = open_code_source(process, source_options);
  if (!opened) return fail(with_own_jitdump(opened.error(), process));
  const std::unique_ptr<CodeSource>& source = *opened;
  build.source = source->describe();
  if (!source->caveat().empty()) build.notes.push_back(source->caveat());
  JITSCOPE_ASSIGN(const Snapshot snapshot, source->read());
  std::vector<const CodeBody*> bodies;
  ImagePlaces places(options.packed);
  std::vector<uint32_t> epoch_of;
  uint64_t bytecode = 0;
  // Later lines of a map hold; structures in memory never overlap.
  for (size_t i = snapshot.bodies.size(); i-- > 0;) {
    const CodeBody& body = snapshot.bodies[i];
    if (body.tier == Tier::bytecode) {
      ++bytecode;
      continue;
    }
    const auto epoch = places.place(body.address, body.size);
    if (!epoch) continue;
    bodies.push_back(&body);
    epoch_of.push_back(*epoch);
  }
  JITSCOPE_ASSIGN(const std::vector<BodyDetail> details, source->details(bodies));
  if (options.image.title.empty()) {
    options.image.title = fmt::format("{} (pid {})", process.status().name, pid);
  }
  JITSCOPE_ASSIGN(ImageSet set, ImageSet::create(std::move(options)));
  const auto add = [&](size_t i, std::span<const std::byte> code) {
    const CodeBody& from = *bodies[i];
    const std::string name = from.name->short_name();
    const std::string full = from.name->display();
    ImageBody body;
    body.address = from.address;
    body.size = from.size;
    body.name = name;
    if (full != name) body.alias = full;
    body.code = code;
    std::vector<UnwindTable> unwind;
    if (!code.empty()) {
      const bool inside = from.entry > from.address && from.entry - from.address < from.size;
      // The rules of HotSpot's frames are known; of others only frame pointers can be relied on.
      unwind = source->kind() == SourceKind::hotspot_memory
                   ? unwind_of_code(code, details[i].frame, inside ? from.entry - from.address : 0)
                   : frame_pointer_table(code);
    }
    body.unwind = unwind;
    body.scopes = details[i].scopes.get();
    if (body.scopes != nullptr) ++build.with_lines;
    ++build.bodies;
    return set.add(body, epoch_of[i]);
  };
  std::vector<ByteRange> ranges;
  for (const CodeBody* body : bodies) {
    ranges.push_back({body->address, static_cast<uint32_t>(body->size)});
  }
  std::vector<bool> done(bodies.size());
  Status added;
  read_ranges(process.memory(), ranges, [&](size_t i, std::span<const std::byte> code) {
    done[i] = true;
    if (added) added = add(i, code);
  });
  JITSCOPE_TRY(added);
  uint64_t unreadable = 0;
  for (size_t i = 0; i < bodies.size(); ++i) {
    if (done[i]) continue;
    ++unreadable;
    JITSCOPE_TRY(add(i, {}));
  }
  note_bodies(build.notes, snapshot.torn, "bodies missing, which changed while they were read");
  note_bodies(build.notes, bytecode, "bodies left out, which are bytecode, not code");
  places.note(build.notes);
  note_bodies(build.notes, unreadable,
              "bodies that have names without bytes, which could not be read");
  JITSCOPE_TRY(complete(build, set));
  return build;
}

Result<std::vector<RecordedDump>> recorded_dumps_of(const std::string& recording) {
  namespace fs = std::filesystem;
  const std::string folder = names_folder(recording);
  std::vector<RecordedDump> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const std::string name = it->path().filename().native();
    if (!name.starts_with("jit-") || !name.ends_with(".dump")) continue;
    const std::string_view rest = std::string_view(name).substr(4);
    const auto pid = parse_decimal(rest.substr(0, rest.find('-')));
    if (pid && *pid <= UINT32_MAX) {
      out.push_back({it->path().native(), static_cast<uint32_t>(*pid)});
    }
  }
  constexpr std::string_view hint =
      "jitscope record leaves one; for others: image build --jitdump FILE";
  if (out.empty()) {
    return fail(ErrorKind::not_found, "the recording has no folder with code bodies", folder,
                std::string(hint));
  }
  std::ranges::sort(out, {}, &RecordedDump::path);
  // A recording that is not there any more, or was cut, tells nothing.
  auto source = open_byte_source(recording);
  if (!source) return out;
  const auto reader = perfdata::Reader::open(std::move(*source));
  if (!reader || RecordingFacts::by_jitscope((*reader)->header())) return out;
  return fail(ErrorKind::not_found,
              fmt::format("the recording was written by perf {}, over one of jitscope's that the "
                          "folder belongs to",
                          (*reader)->header().version),
              folder, std::string(hint));
}

}  // namespace jitscope
