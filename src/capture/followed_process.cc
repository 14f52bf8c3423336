// How one process is followed; see followed_process.h.
#include "capture/followed_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"
#include "base/work_limit.h"
#include "code/recorded_name.h"
#include "runtimes/all_runtimes.h"
#include "runtimes/detect.h"
#include "runtimes/perf_map_source.h"
#include "runtimes/runtime_kind.h"
#include "symbolize/copied_text.h"

namespace jitscope {
namespace {

// A JVM that has just started has no code cache yet: so many tries before a perf map is looked for
// instead, and so many failed looks in a row before its structures are given up.
constexpr unsigned kPatience = 20;
// More lines than this of one perf map are not written down.
constexpr uint64_t kMostLines = 8U << 20U;
// The code of so much of a perf map is written down with the names; and the code of no body that is
// larger than what compilers make of one function.
constexpr uint64_t kMostMapCode = 512U << 20U;
constexpr uint64_t kLargestMapBody = 4U << 20U;
constexpr size_t kBatch = 4096;
// A program that moves its code does so when it starts: so many searches look for that.
constexpr unsigned kCopiedLooks = 5;
constexpr uint64_t kRoomBehindLast = 4096;

}  // namespace

std::string mapped_jitdump(const Process& process, const std::vector<JitMapping>& mappings) {
  for (const JitMapping& jit : mappings) {
    if (!jit.mapping.file_backed() || jit.mapping.offset != 0) continue;
    std::array<std::byte, 4> magic{};
    if (!process.memory().read(jit.mapping.start, magic)) continue;
    if (jitdump::looks_like_jitdump(magic)) return jit.mapping.path;
  }
  return {};
}

std::string FollowedProcess::path_in(const std::string& folder, const Process& process) {
  return fmt::format("{}/jit-{}-{}.dump", folder, process.pid(), process.start_ticks());
}

FollowedProcess::FollowedProcess(Process process, std::string path, SourceOptions options,
                                 uint64_t begin, DumpForm form,
                                 std::shared_ptr<const UniqueFd> folder)
    : process_(std::make_unique<Process>(std::move(process))),
      options_(std::move(options)),
      form_(form),
      file_(std::move(path), process_->pid(), form, std::move(folder)),
      started_(start_monotonic_ns(*process_)),
      first_time_(std::max(begin, started_)) {
  summary_.pid = process_->pid();
  summary_.start_ticks = process_->start_ticks();
  summary_.name = process_->status().name;
}

void FollowedProcess::called_exec(uint64_t time) {
  exec_time_ = std::max(exec_time_, time);
  if (state_ == State::self_dumped) state_ = State::searching;
  if (last_look_ == 0) first_time_ = std::max(first_time_, time);
}

void FollowedProcess::look() {
  if (state_ == State::searching) search();
  if (state_ != State::following) return;
  ++summary_.looks;
  const auto worked = cpu_time_of(pid());
  const Status looked = source_ ? look_at_source() : look_at_map();
  if (looked) {
    failures_ = 0;
    work_.looked(worked);
    if (state_ == State::following) summary_.reason.clear();
  } else {
    recover(looked.error());
  }
}

bool FollowedProcess::may_have_news(uint64_t cost) {
  if (state_ != State::following || failures_ != 0 || unread() || !process_->alive()) return true;
  const uint64_t now = monotonic_ns();
  const auto total = cpu_time_of(pid());
  if (work_.worth(total, cost)) return true;
  checked_ = now;
  worked_ = work_.used(total).value_or(0);
  return false;
}

void FollowedProcess::search() {
  if (Status same = process_->check_same(); !same) {
    recover(same.error());
    return;
  }
  const auto maps = process_->maps();
  if (!maps) {
    summary_.reason = maps.error().what;
    summary_.hint = maps.error().hint;
    return;
  }
  look_for_copied_text(*maps);
  const RuntimeInfo info = detect_runtime(*process_, *maps);
  const auto mappings = find_jit_mappings(*process_, *maps);
  runtime_ = info.runtime;
  if (std::string dump = mapped_jitdump(*process_, mappings); !dump.empty()) {
    summary_.own_jitdump = std::move(dump);
    summary_.jit = true;
    stop(State::self_dumped, "");
    return;
  }
  if (mappings.empty() && info.runtime == Runtime::unknown) {
    summary_.reason = "it has no JIT code";
    return;
  }
  summary_.jit = true;
  if (row_of(info.runtime).open_memory != nullptr) {
    if (take_memory(info) || failures_ < kPatience) return;
  }
  RuntimeKind kind = kind_of(*maps);
  if (kind.name().empty()) kind = RuntimeKind(info.runtime);
  take_perf_map(kind);
}

void FollowedProcess::look_for_copied_text(const std::vector<Mapping>& maps) {
  if (copied_looks_ >= kCopiedLooks) return;
  ++copied_looks_;
  for (Mapping& each : find_copied_text(process_->pid(), maps)) {
    if (copied_known_.insert(each.start).second) copied_.push_back(std::move(each));
  }
}

std::vector<Mapping> FollowedProcess::take_copied_text() {
  return std::exchange(copied_, {});
}

bool FollowedProcess::take_memory(const RuntimeInfo& info) {
  auto source = row_of(info.runtime).open_memory(*process_, info);
  if (!source) {
    ++failures_;
    summary_.reason = source.error().what;
    summary_.hint = source.error().hint;
    return false;
  }
  source_ = std::move(*source);
  source_->only_places();
  summary_.source = source_->describe();
  state_ = State::following;
  return true;
}

bool FollowedProcess::take_perf_map(const RuntimeKind& kind) {
  auto place = find_perf_map(*process_, options_);
  if (!place) {
    const bool none = place.error().kind == ErrorKind::not_found;
    if (none && kind.in_images()) {
      summary_.in_images = kind.name();
      summary_.reason.clear();
      summary_.hint.clear();
      return false;
    }
    summary_.reason =
        none ? "nothing tells what its JIT code is: there is no perf map" : place.error().what;
    summary_.hint = none ? kind.how_to_map() : place.error().hint;
    return false;
  }
  summary_.in_images.clear();
  place_ = std::move(*place);
  map_ = std::make_unique<PerfMapFollower>(diagnostics_, place_.shown());
  summary_.source = "perf map " + place_.shown();
  state_ = State::following;
  return true;
}

Status FollowedProcess::look_at_source() {
  const uint64_t begin = monotonic_ns();
  JITSCOPE_ASSIGN(const Snapshot snapshot, source_->read());
  const uint64_t now = last_time_ = monotonic_ns();
  const KnownBodies::Changes changes = known_.update(snapshot, BodyFile::kLargestBody);
  summary_.skipped = std::max(summary_.skipped, changes.skipped);
  write_gone(changes.gone, now);
  JITSCOPE_TRY(write_bodies(changes.fresh, snapshot.bodies, now));
  looked(begin);
  return {};
}

void FollowedProcess::write_gone(std::span<const KnownBodies::Gone> gone, uint64_t now) {
  for (const KnownBodies::Gone& each : gone) file_.gone(each.address, each.size, now);
  summary_.gone += gone.size();
}

void FollowedProcess::looked(uint64_t begin) {
  last_look_ = begin;
  seen_until_ = begin;
}

std::string FollowedProcess::written_name(std::string_view name, Tier tier) const {
  return form_ == DumpForm::recorded ? encode_recorded_name(name, tier, runtime_)
                                     : std::string(name);
}

// `fresh` are some of `all`, which are sorted by address.
Status FollowedProcess::write_bodies(const std::vector<const CodeBody*>& fresh,
                                     std::span<const CodeBody> all, uint64_t now) {
  std::vector<std::string> names;
  std::vector<BodyFile::Body> bodies;
  names.reserve(fresh.size());
  bodies.reserve(fresh.size());
  // Without the insides the names are still worth having.
  const auto details = source_->details(fresh);
  for (size_t i = 0; i < fresh.size(); ++i) {
    const CodeBody& body = *fresh[i];
    names.push_back(written_name(body.name->display(), body.tier));
    BodyFile::Body out;
    out.since = last_look_;
    out.time = last_look_ == 0 ? first_time_ : now;
    out.address = body.address;
    out.size = body.size;
    out.name = names.back();
    if (details) {
      out.scopes = (*details)[i].scopes.get();
      out.unwind = source_->kind() == SourceKind::hotspot_memory;
      out.frame = (*details)[i].frame;
    }
    if (body.entry > body.address && body.entry - body.address < body.size) {
      out.entry = body.entry - body.address;
    }
    const CodeBody* next = &body + 1;
    const uint64_t end = body.address + body.size;
    if (next == all.data() + all.size()) {
      out.room = kRoomBehindLast;
    } else {
      out.room = next->address - std::min(next->address, end);
    }
    bodies.push_back(out);
  }
  summary_.bodies += bodies.size();
  return bodies.empty() ? file_.flush() : file_.load(bodies, process_->memory());
}

Status FollowedProcess::look_at_map() {
  const uint64_t begin = monotonic_ns();
  const Status same = process_->check_same();
  Result<PerfMapFollower::Growth> growth = PerfMapFollower::Growth{};
  if (same) {
    auto fd = open_perf_map(*process_, place_, options_.force);
    if (!fd && !map_->open()) return fail(std::move(fd.error()));
    growth = fd ? map_->read(std::move(*fd)) : map_->read_on();
  } else if (map_->open()) {
    // It has ended; what it wrote last is still there.
    growth = map_->read_on();
  }
  // What a look has no time for, the next one reads. Until then the look before stays the last one
  // that saw everything.
  bool more = true;
  for (bool first = true; more; first = false) {
    if (!first) growth = map_->read_on();
    JITSCOPE_TRY(growth);
    JITSCOPE_TRY(take_map_piece(*growth));
    more = growth->more;
    if (more && WorkLimit::over()) break;
  }
  summary_.unread_bytes = map_->unread();
  // What it wrote last is still there when it has ended; that is no look at it.
  if (!more && same) looked(begin);
  return same;
}

Status FollowedProcess::take_map_piece(const PerfMapFollower::Growth& growth) {
  const uint64_t now = last_time_ = monotonic_ns();
  std::vector<std::string> names;
  std::vector<BodyFile::Body> bodies;
  for (size_t at = 0; at < growth.lines.size(); at += kBatch) {
    names.clear();
    bodies.clear();
    names.reserve(kBatch);
    for (size_t i = at; i < std::min(at + kBatch, growth.lines.size()); ++i) {
      const PerfMapLine& line = growth.lines[i];
      if (line.size == 0 || line.size > BodyFile::kLargestBody || lines_ >= kMostLines) {
        ++summary_.skipped;
        continue;
      }
      ++lines_;
      const MapName parsed = parse_map_name(runtime_, line.name);
      names.push_back(written_name(
          row_of(runtime_).recorded_as_shown ? parsed.name.display() : line.name, parsed.tier));
      BodyFile::Body out;
      out.since = last_look_;
      out.time = last_look_ == 0 ? first_time_ : now;
      out.address = line.address;
      out.size = line.size;
      out.name = names.back();
      out.code = line.size <= kLargestMapBody && code_bytes_ < kMostMapCode;
      if (out.code) code_bytes_ += line.size;
      bodies.push_back(out);
    }
    summary_.bodies += bodies.size();
    JITSCOPE_TRY(file_.load(bodies, process_->memory()));
  }
  return {};
}

void FollowedProcess::recover(const Error& error) {
  if (error.where == file_.path()) {  // the disk is full, the folder is gone
    stop(State::ended, error.what, error.hint);
    return;
  }
  if (error.kind != ErrorKind::target_gone) {
    summary_.reason = error.what;
    summary_.hint = error.hint;
    if (++failures_ >= kPatience) {
      source_.reset();
      map_.reset();
      state_ = State::searching;
    }
    return;
  }
  const uint64_t now = monotonic_ns();
  auto again = Process::open(process_->pid());
  source_.reset();
  map_.reset();
  // A process that is about to end has no memory any more, one that called exec has other memory.
  const auto maps = again ? again->maps() : Result<std::vector<Mapping>>{};
  if (!again || again->start_ticks() != process_->start_ticks() || !maps || maps->empty()) {
    (void)file_.flush();
    if (last_look_ != 0) summary_.unseen_ns = now - last_look_;
    // Up to the last check it had run for so long only.
    if (last_look_ != 0 && checked_ > last_look_) {
      summary_.unseen_ns = std::min(summary_.unseen_ns, worked_ + (now - checked_));
    }
    stop(State::ended, "");
    return;
  }
  // Another program in the same process: nothing of the old one is left.
  const uint64_t since = exec_time_ > last_look_ ? std::max(exec_time_, last_time_) : now;
  write_gone(known_.clear(), since);
  if (const Status written = file_.flush(); !written) {
    stop(State::ended, written.error().what, written.error().hint);
    return;
  }
  *process_ = std::move(*again);
  summary_.name = process_->status().name;
  first_time_ = since;
  last_look_ = 0;
  lines_ = 0;
  failures_ = 0;
  copied_looks_ = 0;
  copied_known_.clear();
  state_ = State::searching;
}

void FollowedProcess::stop(State state, std::string reason, std::string hint) {
  source_.reset();
  map_.reset();
  (void)known_.clear();
  summary_.reason = std::move(reason);
  summary_.hint = std::move(hint);
  state_ = state;
}

void FollowedProcess::finish() {
  // Readers take the time for that up to which the file tells everything.
  (void)file_.close(seen_until_ == 0 ? monotonic_ns() : seen_until_);
}

FollowedSummary FollowedProcess::summary() const {
  FollowedSummary summary = summary_;
  for (const Diagnostics::Entry& entry : diagnostics_.entries()) summary.skipped += entry.count;
  if (summary.bodies != 0) {
    summary.dump = file_.path();
    if (state_ == State::following) summary.reason.clear();
  }
  return summary;
}

}  // namespace jitscope
