#include "naming/resolver.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/perfdata/callchain.h"
#include "naming/jit_name.h"
#include "naming/offline_images.h"
#include "naming/text_compare.h"
#include "runtimes/map_name.h"
#include "symbolize/mapping_kind.h"

namespace jitscope {
namespace {

bool same_mapping(const MappedRange* mine, const MappedRange* other) {
  return mine != nullptr && other != nullptr && mine->start == other->start &&
         mine->file == other->file;
}

}  // namespace

Resolver::Resolver(SourceContext& context, const NamingOptions& options)
    : context_(context),
      options_(options),
      offline_(std::make_unique<OfflineImages>(options.root)),
      compare_(std::make_unique<TextCompare>(context.search, context.files, options)) {}
Resolver::~Resolver() = default;

std::string Resolver::map_dso(const ProcessLife& life) {
  return fmt::format("/tmp/perf-{}.map", life.pid);
}

JitSources& Resolver::sources(ProcessLife& life) {
  if (life.sources == nullptr) life.sources = std::make_unique<JitSources>(context_, life);
  return static_cast<JitSources&>(*life.sources);
}

Status Resolver::add_offline_map(const std::string& option) {
  any_offline_ = true;
  return offline_->add(option);
}

Resolution Resolver::nameless(const AddressQuery& query, NoName reason, FramePlace place,
                              std::string dso, std::string dso_path) {
  Frame frame;
  frame.kind = FrameKind::unknown;
  frame.no_name = reason;
  frame.place = place;
  frame.dso = std::move(dso);
  frame.dso_path = std::move(dso_path);
  Resolution result;
  result.location.ip = query.ip;
  result.location.shown_ip = query.ip;
  result.location.dso = dso_number(frame.dso_path.empty() ? "[unknown]" : frame.dso_path);
  result.location.frame = frames_.number(std::move(frame));
  return result;
}

Resolution Resolver::resolve(ProcessLife& life, const AddressQuery& query) {
  if (options_.jit_only && query.mode != perfdata::CpuMode::user) {
    return nameless(query, NoName::not_looked_for_process, FramePlace::kernel, "", "");
  }
  switch (query.mode) {
    case perfdata::CpuMode::kernel:
      return resolve_kernel(query);
    case perfdata::CpuMode::user:
      return resolve_user(life, query);
    case perfdata::CpuMode::hypervisor:
      return nameless(query, NoName::hypervisor, FramePlace::kernel, "[hypervisor]",
                      "[hypervisor]");
    case perfdata::CpuMode::guest_kernel:
    case perfdata::CpuMode::guest_user:
      return nameless(query, NoName::guest, FramePlace::kernel, "[guest]", "[guest]");
    case perfdata::CpuMode::unknown:
      break;
  }
  return nameless(query, NoName::unknown_mode, FramePlace::unmapped, "", "");
}

// A fork's child runs what its parent had written when it was made; in shared memory also what the
// parent writes later.
std::optional<JitAnswer> Resolver::ask_timed(ProcessLife& life, const MappedRange& range,
                                             uint64_t address, uint64_t time, NoBody& none,
                                             AddressRange& reach) {
  auto own = sources(life).timed(address, time, none, reach);
  // What is only about to come does not hide what was inherited.
  if (own && !own->by_grace) return own;
  const ProcessLife* child = &life;
  uint64_t limit = time;
  while (child->parent != nullptr) {
    ProcessLife& parent = *child->parent;
    if (!child->uncertain_parent && !range.shared) limit = std::min(limit, child->forked_at);
    if (child->uncertain_parent) {
      reach.narrow(address, address);
      if (!same_mapping(&range, parent.space.at(address))) break;
    }
    if (auto answer = sources(parent).timed(address, limit, none, reach)) {
      if (own && answer->by_grace) return own;
      if (limit != time) {
        answer->valid_from = time;
        answer->valid_until = kForever;
      }
      // Until the child writes something of its own there.
      answer->valid_until = std::min(answer->valid_until, own ? time + 1 : none.until);
      return answer;
    }
    child = &parent;
  }
  return own;
}

std::optional<JitAnswer> Resolver::ask_untimed(ProcessLife& life, const MappedRange& range,
                                               uint64_t address, AddressRange& reach) {
  if (auto answer = sources(life).untimed(address, reach)) return answer;
  const ProcessLife* child = &life;
  while (child->parent != nullptr) {
    ProcessLife& parent = *child->parent;
    if (child->uncertain_parent) {
      reach.narrow(address, address);
      if (!same_mapping(&range, parent.space.at(address))) break;
    }
    if (auto answer = sources(parent).untimed(address, reach)) return answer;
    child = &parent;
  }
  return std::nullopt;
}

uint32_t Resolver::dso_number(const std::string& dso) {
  const auto [it, fresh] = dso_numbers_.try_emplace(dso, static_cast<uint32_t>(dsos_.size()));
  if (fresh) dsos_.push_back(dso);
  return it->second;
}

bool Resolver::resolve_elf(Resolution& out, const MappedRange& range, const AddressQuery& query,
                           uint64_t lookup, NoName& reason, AddressRange& reach) {
  const MappedContents& opened = context_.files.open(range.file);
  const MappedFileInfo& info = context_.files.info(range.file);
  out.location.shown_ip = range.file_offset(query.ip);
  if (opened.image == nullptr) {
    reason = opened.reason;
    return false;
  }
  auto address = opened.image->address_of_offset(range.file_offset(lookup));
  auto hit = address ? opened.image->symbol_at(*address) : std::nullopt;
  if (hit && !options_.inlined && !options_.lines) {
    const uint64_t offset = range.file_offset(lookup);
    uint64_t low = 0;
    uint64_t high = UINT64_MAX;
    opened.image->narrow(offset, low, high);
    const uint64_t above = std::min(high - offset, UINT64_MAX - lookup);
    reach.narrow(lookup - std::min(offset - low, lookup), lookup + above);
  } else {
    reach.narrow(lookup, lookup);
  }
  if (!hit && lookup != query.ip && query.ip < range.end) {
    // No call before it: where a signal handler returns to (__restore_rt), for one.
    lookup = query.ip;
    address = opened.image->address_of_offset(range.file_offset(lookup));
    hit = address ? opened.image->symbol_at(*address) : std::nullopt;
  }
  if (!hit) {
    reason = !opened.image->left_out().empty() ? NoName::not_all_read
             : !opened.image->has_symbols()    ? NoName::stripped
             : opened.image->only_dynamic()    ? NoName::only_exported
                                               : NoName::no_symbol;
    return false;
  }
  out.location.symbol_offset = *address + (query.ip - lookup) - hit->start;
  out.named = true;
  const bool with_source = options_.inlined || options_.lines;
  MadeKey key;
  key.source = &opened;
  key.place = hit->start;
  const auto [made, fresh] = made_.try_emplace(key);
  if (!fresh && !with_source) {
    out.location.frame = made->second.frame;
    out.location.dso = made->second.dso;
    return true;
  }
  Frame frame;
  frame.method = hit->name;
  frame.raw = hit->raw;
  frame.dso = info.base;
  frame.dso_path = info.shown;
  frame.place = FramePlace::file;
  frame.kind = FrameKind::native;
  frame.source = info.kind == MappingKind::vdso ? NameSource::vdso : NameSource::elf;
  if (with_source) {
    std::vector<SourceFrame> frames;
    if (WorkBudget& budget = context_.files.budget(); !budget.spent()) {
      const WorkBudget::Piece piece(budget);
      frames = opened.image->source_frames(*address);
    }
    std::vector<FrameId> copies;
    for (size_t i = 0; options_.inlined && i + 1 < frames.size(); ++i) {
      Frame inlined = frame;
      inlined.method = frames[i].function;
      inlined.raw = frames[i].function;
      inlined.kind = FrameKind::native_inlined;
      inlined.file = frames[i].file;
      inlined.line = frames[i].line;
      copies.push_back(frames_.number(std::move(inlined)));
    }
    if (!copies.empty()) {
      out.location.inlined = static_cast<uint32_t>(inlined_.size());
      inlined_.push_back(std::move(copies));
    }
    if (!frames.empty()) {
      // Without the inlined ones the line is that of the innermost.
      const SourceFrame& source = options_.inlined ? frames.back() : frames.front();
      frame.file = source.file;
      frame.line = source.line;
    }
  }
  out.location.frame = frames_.number(std::move(frame));
  out.location.dso = dso_number(info.shown);
  made->second = {out.location.frame, out.location.dso, 0};
  return true;
}

// Memory that took the place of a file's code: a copy of it (on large pages), or a JIT's code.
bool Resolver::resolve_copied(Resolution& out, const ProcessLife& life, const MappedRange& range,
                              const AddressQuery& query, uint64_t lookup, AddressRange& reach) {
  MappedRange file = range;
  file.file = range.under;
  file.page_offset = range.start + range.under_bias;
  file.memory = false;
  const uint64_t page = lookup & ~(TextCompare::kPage - 1);
  NoName reason = NoName::none;
  Resolution native;
  reach.narrow(page, page + TextCompare::kPage - 1);
  if (!resolve_elf(native, file, query, lookup, reason, reach)) return false;
  const TextCompare::Verdict verdict = compare_->page(life, range, lookup);
  if (verdict == TextCompare::Verdict::differs) return false;
  out.location = native.location;
  out.named = true;
  if (verdict == TextCompare::Verdict::same) return true;
  Frame frame = frames_[out.location.frame];
  frame.ambiguous = true;
  frame.candidates = frame.method + " | code written over it";
  frame.no_name = NoName::copied_text;
  out.location.frame = frames_.number(std::move(frame));
  return true;
}

bool Resolver::in_erlang_prologue(const ProcessLife& life, const Resolution& answer) const {
  return life.runtime == Runtime::erlang && answer.named &&
         is_erlang_prologue(frames_[answer.location.frame].raw);
}

Resolution Resolver::resolve_user(ProcessLife& life, const AddressQuery& query) {
  const uint64_t lookup = perfdata::call_address(query.ip, query.caller);
  const MappedRange* range = life.space.at(lookup);
  const bool unmapped = range == nullptr;
  if (unmapped) range = life.before_exec.at(lookup);
  if (range == nullptr) {
    Resolution out = nameless(query, NoName::no_mapping, FramePlace::unmapped, "[unknown]", "");
    out.unmapped = true;
    out.range = {lookup, lookup};
    return out;
  }
  Resolution out = resolve_mapped(life, *range, query, lookup);
  if (lookup != query.ip && query.ip < range->end && in_erlang_prologue(life, out)) {
    // No call lies before the entry of a function: what an Erlang process returns to at its end.
    if (Resolution entry = resolve_mapped(life, *range, query, query.ip);
        entry.named && entry.location.symbol_offset == 0) {
      out = entry;
      out.range = {lookup, lookup};
    }
  }
  out.unmapped = unmapped;
  if (unmapped) out.range = {lookup, lookup};
  out.location.ip = query.ip;
  return out;
}

Resolution Resolver::resolve_mapped(ProcessLife& life, const MappedRange& mapped,
                                    const AddressQuery& query, uint64_t lookup) {
  AddressRange reach{mapped.start, mapped.end - 1};
  // Lines and maps by hand have answers of their own for each address.
  if (any_offline_ || options_.lines) reach.narrow(lookup, lookup);
  Resolution out = resolve_in(life, mapped, query, lookup, reach);
  out.range = reach;
  return out;
}

Resolution Resolver::resolve_in(ProcessLife& life, const MappedRange& mapped,
                                const AddressQuery& query, uint64_t lookup, AddressRange& reach) {
  const MappedRange* range = &mapped;
  const MappedFileInfo& info = context_.files.info(range->file);
  Resolution out;
  NoBody none;  // what no timed source names may have had a body, or get one
  const bool memory = is_jit_memory(info.kind);
  if (auto answer = ask_timed(life, *range, lookup, query.time, none, reach)) {
    take_jit_answer(out, life, *answer, *range, lookup, query, reach);
    return out;
  }
  const uint64_t until = none.until;
  const uint64_t from = until == kForever ? none.from : query.time;
  NoName reason = NoName::none;
  NoName map_reason = NoName::none;  // why a map that was given for the file does not help
  const bool special = info.kind == MappingKind::vsyscall || info.kind == MappingKind::kernel;
  if (!memory && !special) {
    out.valid_from = from;
    if (options_.jit_only && context_.files.is_elf(range->file)) {
      Resolution result =
          nameless(query, NoName::not_looked_for_elf, FramePlace::file, info.base, info.shown);
      result.valid_from = out.valid_from;
      result.valid_until = until;
      return result;
    }
    if (!options_.jit_only && resolve_elf(out, *range, query, lookup, reason, reach)) {
      out.valid_until = until;
      return out;
    }
    const bool is_elf = context_.files.is_elf(range->file);
    if (!is_elf) {
      if (offline_->resolve(out, life, *range, info, lookup, query, frames_, map_reason)) {
        out.location.dso = dso_number(info.path);
        out.location.jit = offline_number(out, query);
        out.valid_from = from;
        out.valid_until = until;
        return out;
      }
    }
    if (is_elf) {
      Resolution result = nameless(query, reason, FramePlace::file, info.base, info.shown);
      result.location.shown_ip = out.location.shown_ip;
      result.valid_from = from;
      result.valid_until = until;
      return result;
    }
  }
  if (special) return nameless(query, NoName::vsyscall, FramePlace::file, info.base, info.shown);
  out.valid_from = from;
  // The 2015 rule: executable memory that is no readable ELF file belongs to the JIT sources.
  if (memory && offline_->resolve(out, life, *range, info, lookup, query, frames_, reason)) {
    out.location.dso = dso_number(info.path);
    out.location.jit = offline_number(out, query);
    out.valid_until = until;
    return out;
  }
  if (auto answer = ask_untimed(life, *range, lookup, reach)) {
    take_jit_answer(out, life, *answer, *range, lookup, query, reach);
    out.valid_from = from;
    out.valid_until = until;
    return out;
  }
  if (memory && range->under != kNoFile && !options_.jit_only &&
      resolve_copied(out, life, *range, query, lookup, reach)) {
    out.valid_until = until;
    return out;
  }
  NoName jit_reason = sources(life).reason(lookup, query.time);
  if (memory && is_wasm_jump_table(life, *range, lookup, query.time))
    jit_reason = NoName::wasm_jump_table;
  if (memory) {
    Resolution result =
        nameless(query, jit_reason, FramePlace::memory, std::string(kJitDso), map_dso(life));
    result.valid_from = from;
    result.valid_until = until;
    return result;
  }
  // A perf map does not list the code of images (.NET ReadyToRun).
  const bool image = context_.files.open(range->file).format == FileFormat::pe;
  if (sources(life).any() && !image) reason = jit_reason;
  if (map_reason != NoName::none) reason = map_reason;
  if (reason == NoName::none) reason = NoName::no_map_of_file;
  Resolution result = nameless(query, reason, FramePlace::file, info.base, info.shown);
  result.valid_from = from;
  result.valid_until = until;
  return result;
}

}  // namespace jitscope
