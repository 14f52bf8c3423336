#include "naming/jit_sources.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "code/recorded_name.h"
#include "naming/jit_name.h"
#include "symbolize/mapping_kind.h"

namespace jitscope {
namespace {

// JVMTI agents log a method some milliseconds after it may run.
constexpr uint64_t kGrace = 20'000'000;

class DumpHandler : public jitdump::Handler {
 public:
  DumpHandler(LoadedDump& dump, const RecordingFacts& facts) : dump_(dump), facts_(facts) {}

  bool on_load(const jitdump::Load& load) override {
    lines_.clear();
    const uint64_t bias = jitdump::v8_line_bias(dump_.header, load);
    for (const jitdump::LineEntry& entry : load.lines) {
      lines_.push_back({entry.address - bias, entry.line, entry.file});
    }
    const uint64_t time = convert(load.time);
    const uint64_t since = load.since == load.time ? time : convert(load.since);
    const BodyId body = dump_.timeline.add(load.address, load.size, since, time, load.name, lines_);
    dump_.scopes.add(body, load.scopes);
    ++dump_.loads;
    if (load.cut) ++dump_.cut;
    return true;
  }
  bool on_move(const jitdump::Move& move) override {
    dump_.timeline.move(move.old_address, move.new_address, move.size, convert(move.time));
    return true;
  }
  bool on_gone(const jitdump::Gone& gone) override {
    dump_.timeline.gone(gone.address, gone.size, convert(gone.time));
    return true;
  }
  bool on_close(const jitdump::Close& close) override {
    if (dump_.recorded) dump_.seen_until = close.time;
    return true;
  }

 private:
  [[nodiscard]] uint64_t convert(uint64_t time) const {
    if (!dump_.header.arch_timestamp) return time;
    return facts_.time_of_ticks(time).value_or(time);
  }
  LoadedDump& dump_;
  const RecordingFacts& facts_;
  std::vector<TimedLine> lines_;
};

// When the process of a recorded dump was seen alive last. Bodies that its first look found may
// carry an earlier time, that of the recording's begin.
uint64_t last_seen(const LoadedDump& dump) {
  return dump.seen_until != kForever ? dump.seen_until : dump.timeline.last_time();
}

// "" or why a dump in the recording's folder is another program's: a pid that was used again has a
// file for each process, and a program that calls exec has its code in the file of the one before.
std::string why_of_another(const LoadedDump& dump, const ProcessLife& life) {
  if (dump.timeline.size() == 0) return {};
  if (dump.timeline.first_time() > life.end) {
    return "its code is younger than this program, which had ended: of a later one with this pid";
  }
  if (life.start != 0 && last_seen(dump) < life.start) {
    return "looked at for the last time before this program began: of an earlier one with this pid";
  }
  return {};
}

// The body a timeline found, as long as nothing else limits it. Its name is read when it is needed.
JitAnswer answer_of(const std::shared_ptr<LoadedDump>& dump, const TimelineAnswer& answer) {
  const TimedBody& body = dump->timeline.body(answer.body);
  JitAnswer result;
  result.source = dump->recorded ? NameSource::recording : NameSource::jitdump;
  if (answer.ambiguous) result.raw = body.name;
  result.ambiguous = answer.ambiguous;
  result.by_grace = answer.by_grace;
  for (const BodyId id : answer.candidates) {
    result.candidates.emplace_back(dump->timeline.body(id).name);
  }
  // A full list may lack some.
  result.all_candidates = answer.candidates.size() < Timeline::kMostCandidates;
  result.start = body.address;
  result.size = body.size;
  result.dump = dump;
  result.body = answer.body;
  return result;
}

}  // namespace

Result<std::shared_ptr<LoadedDump>> DumpCache::load(FoundFile file, bool recorded) {
  const std::pair<uint64_t, uint64_t> key(file.device, file.inode);
  const auto found = by_inode_.find(key);
  if (found != by_inode_.end()) return found->second;
  auto dump = std::make_shared<LoadedDump>();
  dump->shown = file.shown;
  dump->recorded = recorded;
  dump->stubs = recorded && dump->shown.ends_with(kStubsDump);
  if (file.proven) dump->owner = file.owner;
  if (keep_) dump->file.reset(::fcntl(file.fd.get(), F_DUPFD_CLOEXEC, 0));
  JITSCOPE_ASSIGN(auto source, byte_source(std::move(file.fd), file.shown));
  jitdump::ReadOptions options;
  options.code = false;
  options.unwind = false;
  options.lines = lines_;
  JITSCOPE_ASSIGN(auto reader, jitdump::Reader::open(std::move(source), options));
  dump->header = reader->header();
  if (dump->header.arch_timestamp) {
    dump->timed = facts_.time_of_ticks(dump->header.timestamp).has_value();
    dump->why_untimed = "its times are CPU ticks, which this recording does not tie to its clock";
  } else if (!facts_.monotonic()) {
    dump->timed = false;
    dump->why_untimed = "the recording's clock is not CLOCK_MONOTONIC (perf record -k mono)";
  }
  DumpHandler handler(*dump, facts_);
  const Status status = reader->read(handler);
  if (!status) dump->diagnostics.note(status.error().what, dump->shown);
  for (const Diagnostics::Entry& entry : reader->diagnostics().entries()) {
    dump->diagnostics.note(entry.kind, entry.first, entry.count);
  }
  dump->damaged = !status || dump->diagnostics.count(jitdump::kRestNotRead) != 0 ||
                  dump->diagnostics.count(jitdump::kRestTookTooLong) != 0;
  dump->timeline.set_grace(kGrace);
  dump->timeline.seal();
  by_inode_.emplace(key, dump);
  all_.push_back(dump);
  return dump;
}

void note_unused(SourceContext& context, const NamingOptions& options) {
  for (const auto& dump : context.given) {
    if (context.dumps_taken.contains(dump.get())) continue;
    context.notes.push_back(fmt::format(
        "jitdump {}: not used: it is of process {}, which has no samples here, and no process "
        "mapped a file of its name",
        dump->shown, dump->header.pid));
  }
  for (const auto& [pid, path] : options.perf_maps) {
    if (context.maps_taken.contains(pid)) continue;
    const bool seen =
        std::ranges::any_of(context.findings, [&](const auto& each) { return each->pid == pid; });
    context.notes.push_back(
        fmt::format("perf map {}: not used: {}", path,
                    seen ? fmt::format("other sources name all code of process {}", pid)
                         : fmt::format("process {} has no samples here", pid)));
  }
}

JitSources::JitSources(SourceContext& context, const ProcessLife& life)
    : context_(context), life_(life), findings_(std::make_shared<LifeFindings>()) {
  findings_->pid = life.pid;
  context_.findings.push_back(findings_);
}

void JitSources::update_findings() {
  if (findings_->comm != life_.comm) findings_->comm = life_.comm;
  findings_->runtime = life_.runtime;
  findings_->kind = life_.kind;
}

void JitSources::tell(PassedOver passed_over) {
  update_findings();
  findings_->list.push_back({false, passed_over.refused, std::move(passed_over.text)});
}

void JitSources::tell_used(std::string text) {
  update_findings();
  findings_->list.push_back({true, false, std::move(text)});
}

void JitSources::add_dump(std::shared_ptr<LoadedDump> dump) {
  if (std::ranges::find(dumps_, dump) != dumps_.end()) return;
  std::string text = fmt::format("{} {}: {} bodies", dump->recorded ? "recorded" : "jitdump",
                                 dump->shown, dump->loads);
  if (dump->cut != 0) text += ", its last record is cut short";
  if (!dump->timed) text += "; used without times: " + dump->why_untimed;
  for (const Diagnostics::Entry& entry : dump->diagnostics.entries()) {
    text += "; " + to_string(entry);
  }
  tell_used(std::move(text));
  dumps_.push_back(std::move(dump));
}

void JitSources::look_at_candidate(const ProcessLife::DumpMapping& candidate) {
  const MappedFileInfo& file = context_.files.info(candidate.file);
  std::vector<PassedOver> passed_over;
  auto found = context_.search.mapped_dump(life_, file, candidate.time, passed_over);
  for (PassedOver& each : passed_over) tell({"jitdump " + each.text, each.refused});
  if (!found) {
    dump_is_empty_ = dump_is_empty_ || found.error().kind == ErrorKind::damaged;
    if (file.named_as_dump() || found.error().kind != ErrorKind::not_found) {
      tell({"jitdump " + to_string(found.error()), is_refusal(found.error())});
    }
    return;
  }
  auto dump = context_.dumps.load(std::move(*found), false);
  if (dump) {
    add_dump(std::move(*dump));
  } else {
    tell({"jitdump " + to_string(dump.error()), false});
  }
}

void JitSources::look_at_recorded() {
  std::vector<PassedOver> passed_over;
  for (FoundFile& file : context_.search.recorded_dumps(life_, passed_over)) {
    auto dump = context_.dumps.load(std::move(file), true);
    if (!dump) {
      passed_over.push_back({to_string(dump.error()), false});
    } else if (const std::string other = why_of_another(**dump, life_); !other.empty()) {
      passed_over.push_back({fmt::format("recorded {}: {}", (*dump)->shown, other), false});
    } else {
      add_dump(std::move(*dump));
    }
  }
  for (PassedOver& each : passed_over) tell(std::move(each));
}

void JitSources::look_at_given() {
  for (const auto& dump : context_.given) {
    const std::string_view name = mapping_base_name(dump->shown);
    const bool mapped = std::ranges::any_of(life_.dump_candidates, [&](const auto& each) {
      return context_.files.info(each.file).base == name;
    });
    if (!mapped && dump->header.pid != life_.pid && context_.given.size() != 1) continue;
    context_.dumps_taken.insert(dump.get());
    add_dump(dump);
  }
}

void JitSources::look() {
  if (looked_ && candidates_seen_ == life_.dump_candidates.size()) return;
  const WorkBudget::Piece piece(context_.files.budget());
  for (; candidates_seen_ < life_.dump_candidates.size(); ++candidates_seen_) {
    look_at_candidate(life_.dump_candidates[candidates_seen_]);
  }
  if (looked_) return;
  looked_ = true;
  look_at_recorded();
  look_at_given();
}

void JitSources::open_map() {
  if (map_looked_) return;
  map_looked_ = true;
  const WorkBudget::Piece piece(context_.files.budget());
  SourceSearch::Hints hints;
  if (const uint32_t pid = context_.search.namespace_pid(life_); pid != 0 && pid != life_.pid) {
    hints.pids.push_back(pid);
  }
  // A dump that the process mapped says what the process calls itself, and who it is.
  for (const auto& dump : dumps_) {
    const uint32_t pid = dump->header.pid;
    if (!dump->recorded && pid != 0 && pid != life_.pid) hints.pids.push_back(pid);
    if (dump->owner && pid == life_.pid) hints.owners.push_back(*dump->owner);
  }
  std::vector<PassedOver> passed_over;
  context_.maps_taken.insert(life_.pid);
  auto found = context_.search.perf_map(life_, hints, passed_over);
  for (PassedOver& each : passed_over) tell(std::move(each));
  if (!found) {
    tell({to_string(found.error()), is_refusal(found.error())});
    return;
  }
  const std::string shown = found->shown;
  const auto begin = context_.facts.header().first_sample_time
                         ? context_.facts.wall_time(*context_.facts.header().first_sample_time)
                         : std::nullopt;
  map_is_settled_ =
      !found->copied && begin && found->modified_ns < *begin - context_.facts.wall_slack();
  auto source = byte_source(std::move(found->fd), shown);
  if (!source) {
    tell({to_string(source.error()), false});
    return;
  }
  auto map = PerfMapIndex::read(std::move(*source), map_diagnostics_);
  if (!map) {
    tell({to_string(map.error()), false});
    return;
  }
  map_ = std::move(*map);
  std::string text = fmt::format("perf map {}: {} lines", shown, map_->lines());
  if (map_is_settled_) text += ", written before the recording: its last line for an address holds";
  for (const Diagnostics::Entry& entry : map_diagnostics_.entries()) {
    text += "; " + to_string(entry);
  }
  tell_used(std::move(text));
}

std::optional<JitAnswer> JitSources::timed(uint64_t address, uint64_t time, NoBody& none,
                                           AddressRange& range) {
  look();
  for (const auto& dump : dumps_) {
    if (!dump->timed) continue;
    TimelineAnswer answer = dump->timeline.at(address, time);
    range.narrow(answer.low, answer.high);
    none.until = std::min(none.until, answer.valid_until);
    if (answer.body == kNoBody) {
      none.from = std::max(none.from, answer.valid_from);
      const uint64_t told = dump->seen_until;  // the reason is another one afterwards
      if (told == kForever) continue;
      if (time <= told) {
        none.until = std::min(none.until, told + 1);
      } else {
        none.from = std::max(none.from, told + 1);
      }
      continue;
    }
    JitAnswer result = answer_of(dump, answer);
    result.valid_from = answer.valid_from;
    result.valid_until = none.until;
    if (dump->cut != 0 || dump->damaged) {
      range.narrow(address, address);
      doubt(result, address, time);
    }
    return result;
  }
  return std::nullopt;
}

// After the last record of a dump whose end is missing, newer code may lie where it tells of older:
// a map of the same process may know, and without one nothing is certain after damage.
void JitSources::doubt(JitAnswer& answer, uint64_t address, uint64_t time) {
  const uint64_t last = answer.dump->timeline.last_time();
  if (time <= last) {
    answer.valid_until = std::min(answer.valid_until, last + 1);
    return;
  }
  answer.valid_from = std::max(answer.valid_from, last + 1);
  open_map();
  const PerfMapIndex::Answer known = map_ != nullptr ? map_->at(address) : PerfMapIndex::Answer();
  complete(answer, address);
  const bool other = known.entry && jit_name(life_.runtime, known.entry->name, false).method !=
                                        jit_name(life_.runtime, answer.raw, false).method;
  if (!other && (!answer.dump->damaged || known.entry)) return;
  if (!answer.ambiguous) answer.candidates.assign(1, answer.raw);
  answer.ambiguous = true;
  if (other) answer.candidates.push_back(known.entry->name);
  answer.all_candidates = other && !answer.dump->damaged;
}

std::optional<JitAnswer> JitSources::untimed(uint64_t address, AddressRange& range) {
  look();
  for (const auto& dump : dumps_) {
    if (dump->timed) continue;
    const TimelineAnswer answer = dump->timeline.at_any_time(address);
    range.narrow(answer.low, answer.high);
    if (answer.body == kNoBody) continue;
    return answer_of(dump, answer);
  }
  open_map();
  if (map_ == nullptr) return std::nullopt;
  const auto line = map_->line_at(address);
  if (!line) {
    // What begins later holds nothing up to there; what began before had ended.
    const auto next = map_->next_start(address);
    range.narrow(address, next ? *next - 1 : UINT64_MAX);
    return std::nullopt;
  }
  range.narrow(line->low, line->high);
  JitAnswer result;
  result.source = NameSource::perf_map;
  result.start = line->start;
  result.map = this;
  result.line = line->position;
  result.ambiguous = line->ambiguous && !map_is_settled_;
  if (!result.ambiguous) return result;
  PerfMapIndex::Answer answer = map_->at(address);
  if (!answer.entry) return std::nullopt;
  result.size = answer.entry->size;
  result.raw = std::move(answer.entry->name);
  result.all_candidates = answer.candidates.size() >= answer.candidate_count;
  for (PerfMapIndex::Entry& each : answer.candidates) {
    result.candidates.push_back(std::move(each.name));
  }
  return result;
}

void JitSources::complete(JitAnswer& answer, uint64_t address) {
  if (!answer.raw.empty()) return;
  if (answer.dump != nullptr) {
    answer.raw = answer.dump->timeline.body(answer.body).name;
  } else if (answer.map != nullptr) {
    // A map that was rewritten meanwhile has no name to give.
    PerfMapIndex::Answer named = answer.map->map_->at(address);
    if (named.entry) {
      answer.raw = std::move(named.entry->name);
      answer.size = named.entry->size;
    }
  }
}

NoName JitSources::reason(uint64_t address, uint64_t time) {
  look();
  update_findings();
  for (const auto& dump : dumps_) {
    if (!dump->timed || dump->stubs) continue;
    const TimelineAnswer answer = dump->timeline.at(address, time);
    if (answer.ended != kNoBody) return NoName::replaced;
    if (time > dump->seen_until) {
      return NoName::after_last_look;
    }
  }
  if (any_dump()) return NoName::no_body_then;
  if (map_ != nullptr) return NoName::no_line_there;
  if (std::ranges::any_of(findings_->list, &LifeFindings::Finding::refused)) {
    return NoName::refused_source;
  }
  if (dump_is_empty_) return NoName::empty_dump;
  return NoName::no_source;
}

}  // namespace jitscope
