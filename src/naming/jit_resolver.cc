// The JIT's part of Resolver: what a source answered becomes a frame, with what was inlined there.
#include <fmt/format.h>

#include <algorithm>

#include "code/recorded_name.h"
#include "naming/jit_name.h"
#include "naming/offline_images.h"
#include "naming/resolver.h"
#include "runtimes/map_name.h"
#include "runtimes/unfolded_name.h"
#include "runtimes/v8/v8_name.h"
#include "symbolize/mapping_kind.h"

namespace jitscope {

Resolver::Made Resolver::make_jit_frame(const ProcessLife& life, JitAnswer& answer,
                                        const MappedRange& range, uint64_t lookup,
                                        const CodeScopes* scopes, const ScopeChain& chain) {
  JitSources::complete(answer, lookup);
  const bool recorded = answer.source == NameSource::recording;
  std::vector<std::string_view> parts;
  if (options_.jit_inlined && answer.source == NameSource::perf_map && !answer.ambiguous) {
    parts = unfolded_parts(life.runtime, answer.raw);
  }
  JitName name = jit_name(life.runtime, parts.empty() ? answer.raw : parts.front(), recorded);
  Frame frame;
  frame.source = answer.source;
  frame.ambiguous = answer.ambiguous;
  if (answer.ambiguous) {
    bool same_method = answer.all_candidates;
    for (const std::string& candidate : answer.candidates) {
      const JitName other = jit_name(life.runtime, candidate, recorded);
      same_method = same_method && other.method == name.method;
      if (!frame.candidates.empty()) frame.candidates += " | ";
      frame.candidates += other.method;
    }
    // Versions of one method: which one is not known, the method is.
    if (same_method) {
      frame.ambiguous = false;
      frame.candidates.clear();
      name.tier = Tier::unknown;
    } else if (!answer.all_candidates) {
      frame.candidates += " | ...";
    }
  }
  frame.method = std::move(name.method);
  frame.raw = std::move(name.raw);
  frame.tier = name.tier;
  frame.kind = name.kind;
  if (frame.method.empty()) {
    frame.kind = FrameKind::unknown;
    frame.no_name = NoName::map_rewritten;
  }
  const MappedFileInfo& file = context_.files.info(range.file);
  const bool image = file.kind == MappingKind::file;
  frame.place = image ? FramePlace::file : FramePlace::memory;
  frame.dso = image ? file.base : std::string(kJitDso);
  frame.dso_path = image ? file.path : std::string(kJitDso);
  if (options_.lines && !chain.places.empty()) {
    // Without the inlined ones the line is that of the innermost.
    const CodeScopes::Scope& place =
        options_.jit_inlined ? *chain.places.back() : *chain.places.front();
    frame.file = scopes->methods[place.method].file;
    frame.line = place.line;
  } else if (options_.lines && answer.dump != nullptr) {
    // Line 0 ends a stretch of which lines are known.
    if (const auto line = answer.dump->timeline.line_at(answer.body, lookup);
        line && line->line != 0) {
      frame.file = line->file;
      frame.line = line->line;
    }
  }
  Made made;
  if (image) {
    made.dso = dso_number(file.path);
  } else if (answer.dump != nullptr && !recorded) {
    made.dso = dso_number(fmt::format("jitted-{}-{}.so", life.pid, answer.body));
  } else {
    made.dso = dso_number(map_dso(life));
  }
  made.frame = frames_.number(std::move(frame));
  made.jit = jit_number(answer, made.frame);
  if (!parts.empty()) {
    made.inlined = unfolded(life.runtime, std::span(parts).subspan(1), made.frame);
  }
  return made;
}

// Of the parts of a name, outermost first, the frames, innermost first.
uint32_t Resolver::unfolded(Runtime runtime, std::span<const std::string_view> parts,
                            FrameId outer) {
  std::vector<FrameId> frames;
  for (size_t i = parts.size(); i-- > 0;) {
    JitName name = jit_name(runtime, parts[i], false);
    Frame frame = frames_[outer];
    frame.method = std::move(name.method);
    frame.raw = std::move(name.raw);
    frame.kind = FrameKind::jit_inlined;
    frames.push_back(frames_.number(std::move(frame)));
  }
  inlined_.push_back(std::move(frames));
  return static_cast<uint32_t>(inlined_.size() - 1);
}

// V8 begins a WebAssembly module's memory with its jump tables, which no source lists
// (NativeModule::AddCodeSpaceLocked, src/wasm/wasm-code-manager.cc): code in front of the first
// function.
bool Resolver::is_wasm_jump_table(ProcessLife& life, const MappedRange& range, uint64_t address,
                                  uint64_t time) {
  // Memory that goes on before this mapping: what is in front may be a function's.
  const MappedRange* before = range.start == 0 ? nullptr : life.space.at(range.start - 1);
  if (before != nullptr && is_jit_memory(context_.files.info(before->file).kind)) return false;
  NoBody none;
  AddressRange empty{range.start, range.end - 1};  // of all sources, from the mapping's start on
  if (ask_timed(life, range, range.start, time, none, empty)) return false;
  if (ask_untimed(life, range, range.start, empty)) return false;
  if (address > empty.high || empty.high >= range.end - 1) return false;
  AddressRange reach;
  const uint64_t first = empty.high + 1;
  auto answer = ask_timed(life, range, first, time, none, reach);
  if (!answer) answer = ask_untimed(life, range, first, reach);
  if (!answer || answer->ambiguous) return false;
  JitSources::complete(*answer, first);
  std::string_view name = answer->raw;
  if (answer->source == NameSource::recording) name = decode_recorded_name(name).name;
  return parse_map_name(Runtime::v8, name).name.type == kWasmType;
}

uint32_t Resolver::jit_number(const JitAnswer& answer, FrameId frame) {
  const auto [it, fresh] = jit_numbers_.try_emplace({answer.origin(), answer.number(), frame},
                                                    static_cast<uint32_t>(jit_codes_.size()));
  if (fresh) jit_codes_.push_back({answer.dump, answer.body, answer.start, answer.size, frame});
  return it->second;
}

uint32_t Resolver::offline_number(const Resolution& answer, const AddressQuery& query) {
  const uint64_t start = query.ip - answer.location.symbol_offset;
  const auto [it, fresh] = jit_numbers_.try_emplace({offline_.get(), start, answer.location.frame},
                                                    static_cast<uint32_t>(jit_codes_.size()));
  if (fresh) {
    jit_codes_.push_back({nullptr, kNoBody, start, answer.symbol_size, answer.location.frame});
  }
  return it->second;
}

// The frames of what was inlined, innermost first.
uint32_t Resolver::jit_inlined(const JitAnswer& answer, const CodeScopes& scopes,
                               const ScopeChain& chain, FrameId outer) {
  const auto [it, fresh] =
      jit_inlined_.try_emplace({answer.dump.get(), answer.body, chain.scope, outer}, 0U);
  if (!fresh) return it->second;
  std::vector<FrameId> frames;
  for (size_t i = 0; i + 1 < chain.places.size(); ++i) {
    Frame frame = frames_[outer];
    frame.method = scopes.methods[chain.places[i]->method].name;
    frame.raw = frame.method;
    frame.kind = FrameKind::jit_inlined;
    frame.file.clear();
    frame.line = 0;
    if (options_.lines) {
      frame.file = scopes.methods[chain.places[i]->method].file;
      frame.line = chain.places[i]->line;
    }
    frames.push_back(frames_.number(std::move(frame)));
  }
  it->second = static_cast<uint32_t>(inlined_.size());
  inlined_.push_back(std::move(frames));
  return it->second;
}

void Resolver::take_jit_answer(Resolution& out, const ProcessLife& life, JitAnswer& answer,
                               const MappedRange& range, uint64_t lookup, const AddressQuery& query,
                               AddressRange& reach) {
  const CodeScopes* scopes = nullptr;
  ScopeChain chain;
  if (answer.dump != nullptr && !answer.ambiguous && (options_.jit_inlined || options_.lines)) {
    scopes = answer.dump->scopes.of(answer.body, answer.size);
    if (scopes != nullptr) {
      chain = chain_at(*scopes, lookup - answer.start);
      reach.narrow(answer.start + chain.low,
                   chain.high > UINT64_MAX - answer.start ? UINT64_MAX : answer.start + chain.high);
    }
  }
  Made made;
  if (answer.ambiguous || options_.lines) {
    made = make_jit_frame(life, answer, range, lookup, scopes, chain);
  } else {
    MadeKey key;
    key.source = answer.origin();
    key.place = answer.number();
    key.life = life.number;
    key.file = range.file;
    const auto [it, fresh] = made_.try_emplace(key);
    if (fresh) it->second = make_jit_frame(life, answer, range, lookup, scopes, chain);
    made = it->second;
  }
  out.location.inlined = made.inlined;
  if (options_.jit_inlined && chain.places.size() > 1) {
    out.location.inlined = jit_inlined(answer, *scopes, chain, made.frame);
  }
  Location& location = out.location;
  const bool image = context_.files.info(range.file).kind == MappingKind::file;
  location.shown_ip = image ? range.file_offset(query.ip) : query.ip;
  location.symbol_offset = query.ip - answer.start;
  location.dso = made.dso;
  location.frame = made.frame;
  location.jit = made.jit;
  out.named = true;
  out.valid_from = answer.valid_from;
  out.valid_until = answer.valid_until;
}

}  // namespace jitscope
