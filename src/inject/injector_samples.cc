// Samples: what perf will see at the addresses of their stacks is looked at, and mended
// (injector.h).
#include <algorithm>
#include <bit>

#include "formats/perfdata/callchain.h"
#include "inject/injector.h"

namespace jitscope {
namespace {

using perfdata::call_address;
using perfdata::CpuMode;

constexpr uint64_t kKernelHalf = uint64_t{1} << 63U;
constexpr unsigned kInstructionPointer = 8;  // PERF_REG_X86_IP

}  // namespace

Injector::Last& Injector::last_of(const ResolvedSample& resolved) {
  uint32_t& slot = resolved.thread.slot;
  if (slot >= last_.size()) {
    slot = static_cast<uint32_t>(last_.size());
    last_.emplace_back();
  }
  Last& last = last_[slot];
  if (last.view == nullptr || last.epoch != views_.epoch()) {
    last.view = &views_.of(resolved.sample.head.pid);
    last.epoch = views_.epoch();
    last.settled = nullptr;
  }
  return last;
}

SettledCode& Injector::settled_of(const ProcessLife& life) {
  if (settled_codes_.size() <= life.number) settled_codes_.resize(life.number + size_t{1});
  std::unique_ptr<SettledCode>& code = settled_codes_[life.number];
  if (code == nullptr) code = std::make_unique<SettledCode>();
  return *code;
}

bool Injector::on_sample(const ResolvedSample& resolved) {
  ++summary_.records;
  ++summary_.samples;
  if (!begin() || !keep_order(resolved.sample.head)) return false;
  const uint64_t time = resolved.sample.head.time;
  const ProcessLife& life = *resolved.thread.process;
  Last& last = last_of(resolved);
  PerfView& view = *last.view;
  if (last.life != life.number) {
    last.life = life.number;
    last.code = &settled_of(life);
  }
  settled_ = last.code;
  late_ = time < latest_;
  latest_ = std::max(latest_, time);
  settled_->begin({life.space.generation(), life.space.growth(), view.changed()}, late_ ? 0 : time);
  if (!check_sample(resolved, view, last)) last.settled = nullptr;
  count_leaf(resolved);
  return status_.has_value() && write(resolved.sample.head.bytes, resolved.sample.head);
}

// False: not all of its stack is settled.
bool Injector::check_sample(const ResolvedSample& resolved, PerfView& view, Last& last) {
  std::span<const uint64_t> chain = resolved.sample.callchain;
  const uint64_t leaf = resolved.sample.ip;
  if (!resolved.callchain) chain = {&leaf, 1};
  size_t shared = 0;
  if (!late_ && last.settled == settled_ && last.opened == settled_->opened()) {
    shared = last.chain.shared(chain);
  }
  // What is shown for one may hide another, when bodies overlap: once more, and only as much of
  // each as its answer holds for, which hides none. The third time nothing changes.
  constexpr int most_rounds = 3;
  for (int round = 0; round < most_rounds; ++round) {
    const uint64_t changed = view.changed();
    const uint64_t opened = settled_->opened();
    all_settled_ = true;
    narrow_ = round != 0;
    Walked walked = check_chain(chain.first(chain.size() - shared), resolved, view);
    if (shared != 0 && walked.mode != last.chain.mode()) {
      shared = 0;
      walked = check_chain(chain, resolved, view);
    }
    if (tables_) check_stack_words(resolved, view);
    if (view.changed() == changed && settled_->opened() == opened) {
      if (!all_settled_) return false;
      last.chain.set(chain, shared, chain.size() - walked.marked, walked.mode);
      last.settled = settled_;
      last.opened = opened;
      return true;
    }
    shared = 0;
  }
  return false;
}

Injector::Walked Injector::check_chain(std::span<const uint64_t> chain,
                                       const ResolvedSample& resolved, PerfView& view) {
  Walked walked;
  walked.mode = resolved.sample.mode;
  // Only processes have code of ours.
  bool user = walked.mode == CpuMode::user;
  bool caller = false;
  const SettledCode& settled = *settled_;
  for (size_t i = 0; i < chain.size(); ++i) {
    // Most are return addresses, and settled.
    if (caller && user && !late_) {
      i += settled.callers(chain.subspan(i));
      if (i == chain.size()) break;
    }
    const uint64_t ip = chain[i];
    if (perfdata::is_marker(ip)) {
      walked.mode = perfdata::mode_of_marker(ip, walked.mode);
      walked.marked = i + 1;
      user = walked.mode == CpuMode::user;
      caller = false;
      continue;
    }
    if (user && (late_ || !settled.at(call_address(ip, caller)))) {
      check_address(ip, caller, resolved, view);
    }
    // The first address behind a marker is where the code was interrupted.
    caller = true;
  }
  return walked;
}

// With its place in known_.
LocationId Injector::locate(const ResolvedSample& resolved, uint64_t ip, bool caller) {
  const LocationId id =
      session_.locate_more(resolved.thread, ip, caller, resolved.sample.head.time);
  if (known_.size() <= id) known_.resize(session_.location_count());
  return id;
}

void Injector::check_address(uint64_t ip, bool caller, const ResolvedSample& resolved,
                             PerfView& view) {
  const LocationId id = locate(resolved, ip, caller);
  check(id, resolved, view);
  if (caller) check_return(id, ip, resolved, view);
  settle(id, call_address(ip, caller));
}

// perf looks for a return address where it is, not for its call: of a body that others overlap,
// that may be another stretch.
void Injector::check_return(LocationId id, uint64_t ip, const ResolvedSample& resolved,
                            PerfView& view) {
  if (known_[id].kind != Known::Kind::jit || ip <= session_.span(id).range.high) return;
  const PlannedCode& code = plan_.code(known_[id].code);
  if (ip < code.start || ip - code.start >= code.size) return;
  const LocationId other = locate(resolved, ip, false);
  if (session_.location(other).jit != session_.location(id).jit) return;
  check(other, resolved, view);
}

SettledCode::Kind Injector::kind_of(const Known& known) {
  if (known.kind == Known::Kind::jit) return SettledCode::Kind::jit;
  if (known.kind == Known::Kind::nameless) return SettledCode::Kind::nameless;
  return SettledCode::Kind::other;
}

void Injector::settle(LocationId id, uint64_t address) {
  const Known& known = known_[id];
  const CodeSpan& span = session_.span(id);
  AddressRange range = span.range;
  bool settled = !late_;
  if (settled && known.kind == Known::Kind::jit) {
    // What is shown for an address may lie beside it: a function that a stack returns to without a
    // call before it.
    const PlannedCode& code = plan_.code(known.code);
    settled = address >= code.start && address - code.start < code.size;
    // Return addresses behind a stretch that the body goes on after: check_return().
    if (settled && range.high - code.start < code.size - 1) {
      settled = address != range.high;
      --range.high;
    }
  }
  if (settled) settled = settled_->settle(address, range, kind_of(known), span.limits);
  all_settled_ = all_settled_ && settled;
}

void Injector::count_leaf(const ResolvedSample& resolved) {
  uint64_t leaf = resolved.sample.ip;
  CpuMode mode = resolved.sample.mode;
  if (resolved.callchain) {
    size_t i = 0;
    const std::span<const uint64_t> chain = resolved.sample.callchain;
    for (; i < chain.size() && perfdata::is_marker(chain[i]); ++i) {
      mode = perfdata::mode_of_marker(chain[i], mode);
    }
    if (i == chain.size()) return;
    leaf = chain[i];
  }
  if (mode != CpuMode::user) return;
  if (!late_ && settled_->count(leaf, summary_.jit_samples, summary_.nameless)) return;
  SettledCode::Kind kind = settled_->kind_at(leaf);
  if (late_ || kind == SettledCode::Kind::open) {
    kind = kind_of(known_[locate(resolved, leaf, false)]);
  }
  if (kind == SettledCode::Kind::jit) ++summary_.jit_samples;
  if (kind == SettledCode::Kind::nameless) ++summary_.nameless;
}

void Injector::classify(LocationId id, Known& known, const ResolvedSample& resolved) {
  const Location location = session_.location(id);
  const AddressRange& range = session_.span(id).range;
  const Resolver& resolver = session_.resolver();
  const Frame& frame = resolver.frames()[location.frame];
  if (range.low >= kKernelHalf || range.high == UINT64_MAX) {
    known.kind = Known::Kind::elsewhere;
  } else if (location.jit != 0 && !frame.method.empty()) {
    known.kind = Known::Kind::jit;
    known.code =
        plan_.need(location.jit, resolver.jit_code(location.jit), resolved.sample.head.pid);
    // Each image of the plan has its file, whether anything of it is shown or not.
    image_file(plan_.code(known.code).image, *resolved.thread.process);
  } else {
    known.kind = frame.place == FramePlace::memory     ? Known::Kind::nameless
                 : frame.place == FramePlace::unmapped ? Known::Kind::unmapped
                                                       : Known::Kind::native;
  }
}

void Injector::check(LocationId id, const ResolvedSample& resolved, PerfView& view) {
  Known& known = known_[id];
  if (known.kind == Known::Kind::unseen) classify(id, known, resolved);
  if (known.kind == Known::Kind::elsewhere) return;
  if (known.kind == Known::Kind::jit) {
    if (known.stamp == view.lost()) return;
    show(id, known.code, resolved, view);
    known.stamp = view.lost();
  } else {
    if (known.stamp == view.changed()) return;
    if (known.kind == Known::Kind::native) {
      const AddressRange& range = session_.span(id).range;
      if (!view.may_hide_file(range.low, range.high)) return;
    }
    hide(id, resolved, view);
    known.stamp = view.changed();
  }
}

void Injector::check_stack_words(const ResolvedSample& resolved, PerfView& view) {
  const perfdata::Sample& sample = resolved.sample;
  const auto check_word = [&](uint64_t address, bool caller) {
    if (!late_ && settled_->at(call_address(address, caller))) return;
    const LocationId id = locate(resolved, address, caller);
    Known& known = known_[id];
    if (known.kind == Known::Kind::unseen) classify(id, known, resolved);
    if (known.kind != Known::Kind::jit) return;
    check(id, resolved, view);
    settle(id, call_address(address, caller));
  };
  if ((sample.user_regs_mask >> kInstructionPointer & 1U) != 0) {
    const uint64_t below = sample.user_regs_mask & ((uint64_t{1} << kInstructionPointer) - 1);
    const auto index = static_cast<size_t>(std::popcount(below));
    if (index < sample.user_regs.size()) check_word(sample.user_regs[index], false);
  }
  if (sample.user_stack.empty()) return;
  words_.prepare(*resolved.thread.process);
  words_.for_each(sample.user_stack, [&](uint64_t word) { check_word(word, true); });
}

}  // namespace jitscope
