#include "naming/jit_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "code/recorded_name.h"
#include "naming/jit_name.h"
#include "runtimes/all_runtimes.h"
#include "runtimes/v8/v8_name.h"

namespace jitscope {

std::string JitNames::map_dso(const ProcessLife& life) {
  return fmt::format("/tmp/perf-{}.map", life.pid);
}

Resolution JitNames::name(Question& question, JitAnswer& answer) {
  const MappedRange& range = question.range;
  const Scopes scopes = scopes_of(question, answer);
  MadeName made;
  if (answer.ambiguous || options_.lines) {
    made = make(question, answer, scopes);
  } else {
    MadeKey key;
    key.source = answer.origin();
    key.place = answer.number();
    key.life = question.life.number;
    key.file = range.file;
    const auto [it, fresh] = made_.try_emplace(key);
    if (fresh) it->second = make(question, answer, scopes);
    made = it->second;
  }
  Resolution out;
  Location& location = out.location;
  location.inlined = made.inlined;
  if (options_.jit_inlined && scopes.chain.places.size() > 1) {
    location.inlined = inlined(answer, scopes, made.frame);
  }
  const bool image = question.file.kind == MappingKind::file;
  location.shown_ip = image ? range.file_offset(question.query.ip) : question.query.ip;
  location.symbol_offset = question.query.ip - answer.start;
  location.dso = made.dso;
  location.frame = made.frame;
  location.jit = made.jit;
  out.named = true;
  return out;
}

JitNames::Scopes JitNames::scopes_of(Question& question, const JitAnswer& answer) const {
  Scopes result;
  if (answer.dump == nullptr || answer.ambiguous || !(options_.jit_inlined || options_.lines)) {
    return result;
  }
  result.scopes = answer.dump->scopes.of(answer.body, answer.size);
  if (result.scopes == nullptr) return result;
  result.chain = chain_at(*result.scopes, question.lookup - answer.start);
  const uint64_t high = result.chain.high;
  question.reach.narrow(answer.start + result.chain.low,
                        high > UINT64_MAX - answer.start ? UINT64_MAX : answer.start + high);
  return result;
}

MadeName JitNames::make(const Question& question, JitAnswer& answer, const Scopes& scopes) {
  const ProcessLife& life = question.life;
  JitSources::complete(answer, question.lookup);
  const bool recorded = answer.source == NameSource::recording;
  std::vector<std::string_view> parts;
  if (options_.jit_inlined && answer.source == NameSource::perf_map && !answer.ambiguous) {
    parts = unfolded_parts(life.runtime, answer.raw);
  }
  JitName name = jit_name(life.runtime, parts.empty() ? answer.raw : parts.front(), recorded);
  Frame frame;
  frame.method = std::move(name.method);
  frame.raw = std::move(name.raw);
  frame.tier = name.tier;
  frame.kind = name.kind;
  frame.source = answer.source;
  if (answer.ambiguous) add_candidates(life, answer, frame);
  if (frame.method.empty()) {
    frame.kind = FrameKind::unknown;
    frame.no_name = NoName::map_rewritten;
  }
  const MappedFileInfo& file = question.file;
  const bool image = file.kind == MappingKind::file;
  frame.place = image ? FramePlace::file : FramePlace::memory;
  frame.dso = image ? file.base : std::string(kDso);
  frame.dso_path = image ? file.path : std::string(kDso);
  if (options_.lines) add_line(question, answer, scopes, frame);
  MadeName made;
  made.dso = tables_.dso_number(image ? file.path
                                : answer.dump != nullptr && !recorded
                                    ? fmt::format("jitted-{}-{}.so", life.pid, answer.body)
                                    : map_dso(life));
  made.frame = tables_.frames().number(std::move(frame));
  made.jit = tables_.jit_number(answer.origin(), answer.number(),
                                {answer.dump, answer.body, answer.start, answer.size, made.frame});
  if (!parts.empty()) {
    made.inlined = unfolded(life.runtime, std::span(parts).subspan(1), made.frame);
  }
  return made;
}

// Versions of one method are not ambiguous: which one it is is not known, the method is.
void JitNames::add_candidates(const ProcessLife& life, const JitAnswer& answer,
                              Frame& frame) const {
  bool same_method = answer.all_candidates;
  std::string candidates;
  for (const std::string& candidate : answer.candidates) {
    const JitName other = jit_name(life.runtime, candidate, answer.source == NameSource::recording);
    same_method = same_method && other.method == frame.method;
    if (!candidates.empty()) candidates += " | ";
    candidates += other.method;
  }
  if (same_method) {
    frame.tier = Tier::unknown;
    return;
  }
  if (!answer.all_candidates) candidates += " | ...";
  frame.ambiguous = true;
  frame.candidates = std::move(candidates);
}

void JitNames::add_line(const Question& question, const JitAnswer& answer, const Scopes& scopes,
                        Frame& frame) const {
  const auto& places = scopes.chain.places;
  if (!places.empty()) {
    // Without the inlined ones the line is that of the innermost.
    const CodeScopes::Scope& place = options_.jit_inlined ? *places.back() : *places.front();
    frame.file = scopes.scopes->methods[place.method].file;
    frame.line = place.line;
  } else if (answer.dump != nullptr) {
    // Line 0 ends a stretch of which lines are known.
    if (const auto line = answer.dump->timeline.line_at(answer.body, question.lookup);
        line && line->line != 0) {
      frame.file = line->file;
      frame.line = line->line;
    }
  }
}

// Of the parts of a name, outermost first, the frames, innermost first.
uint32_t JitNames::unfolded(Runtime runtime, std::span<const std::string_view> parts,
                            FrameId outer) {
  std::vector<FrameId> frames;
  for (size_t i = parts.size(); i-- > 0;) {
    JitName name = jit_name(runtime, parts[i], false);
    Frame frame = tables_.frames()[outer];
    frame.method = std::move(name.method);
    frame.raw = std::move(name.raw);
    frame.kind = FrameKind::jit_inlined;
    frames.push_back(tables_.frames().number(std::move(frame)));
  }
  return tables_.inlined_number(std::move(frames));
}

// The frames of what was inlined, innermost first.
uint32_t JitNames::inlined(const JitAnswer& answer, const Scopes& scopes, FrameId outer) {
  const auto [it, fresh] =
      inlined_.try_emplace({answer.dump.get(), answer.body, scopes.chain.scope, outer}, 0U);
  if (!fresh) return it->second;
  std::vector<FrameId> frames;
  const auto& places = scopes.chain.places;
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    const CodeScopes::Method& method = scopes.scopes->methods[places[i]->method];
    Frame frame = tables_.frames()[outer];
    frame.method = method.name;
    frame.raw = frame.method;
    frame.kind = FrameKind::jit_inlined;
    frame.file.clear();
    frame.line = 0;
    if (options_.lines) {
      frame.file = method.file;
      frame.line = places[i]->line;
    }
    frames.push_back(tables_.frames().number(std::move(frame)));
  }
  it->second = tables_.inlined_number(std::move(frames));
  return it->second;
}

NoName JitNames::why_not(Question& question) {
  const NoName why = sources(question.life).reason(question.lookup, question.query.time);
  return question.in_memory() && is_wasm_jump_table(question) ? NoName::wasm_jump_table : why;
}

// V8 begins a WebAssembly module's memory with its jump tables, which no source lists
// (NativeModule::AddCodeSpaceLocked, src/wasm/wasm-code-manager.cc): code in front of the first
// function.
bool JitNames::is_wasm_jump_table(const Question& question) {
  ProcessLife& life = question.life;
  const MappedRange& range = question.range;
  const uint64_t time = question.query.time;
  // Memory that goes on before this mapping: what is in front may be a function's.
  const MappedRange* before = range.start == 0 ? nullptr : life.space.at(range.start - 1);
  if (before != nullptr && is_jit_memory(context_.files.info(before->file).kind)) return false;
  NoBody none;
  AddressRange empty{range.start, range.end - 1};  // of all sources, from the mapping's start on
  if (timed(life, range, range.start, time, none, empty)) return false;
  if (untimed(life, range, range.start, empty)) return false;
  if (question.lookup > empty.high || empty.high >= range.end - 1) return false;
  AddressRange reach;
  const uint64_t first = empty.high + 1;
  auto answer = timed(life, range, first, time, none, reach);
  if (!answer) answer = untimed(life, range, first, reach);
  if (!answer || answer->ambiguous) return false;
  JitSources::complete(*answer, first);
  std::string_view name = answer->raw;
  if (answer->source == NameSource::recording) name = decode_recorded_name(name).name;
  return parse_map_name(Runtime::v8, name).name.type == kWasmType;
}

std::optional<Resolution> TimedNames::answer(Question& question) {
  NoBody none;  // what no timed source names may have had a body, or get one
  const uint64_t time = question.query.time;
  auto answer =
      jit_.timed(question.life, question.range, question.lookup, time, none, question.reach);
  if (!answer) {
    question.until = none.until;
    question.from = none.until == kForever ? none.from : time;
    return std::nullopt;
  }
  question.from = answer->valid_from;
  question.until = answer->valid_until;
  return jit_.name(question, *answer);
}

std::optional<Resolution> UntimedNames::answer(Question& question) {
  auto answer = jit_.untimed(question.life, question.range, question.lookup, question.reach);
  if (!answer) return std::nullopt;
  return jit_.name(question, *answer);
}

}  // namespace jitscope
