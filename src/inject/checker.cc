#include "inject/checker.h"

#include <algorithm>
#include <bit>

#include "arch/machine.h"
#include "formats/perfdata/callchain.h"

namespace jitscope {
namespace {

using perfdata::call_address;
using perfdata::CpuMode;

constexpr uint64_t kKernelHalf = uint64_t{1} << 63U;

}  // namespace

SampleChecker::Last& SampleChecker::last_of(const UnresolvedSample& sample) {
  const uint32_t slot = sample.thread.slot;
  if (slot >= last_.size()) last_.resize(slot + size_t{1});
  Last& last = last_[slot];
  if (last.view == nullptr || last.epoch != views_.epoch()) {
    last.view = &views_.of(sample.sample.head.pid);
    last.epoch = views_.epoch();
    last.settled = nullptr;
  }
  const ProcessLife& life = *sample.thread.process;
  if (last.life != life.number) {
    last.life = life.number;
    last.code = &settled_of(life);
  }
  return last;
}

SettledCode& SampleChecker::settled_of(const ProcessLife& life) {
  if (settled_codes_.size() <= life.number) settled_codes_.resize(life.number + size_t{1});
  std::unique_ptr<SettledCode>& code = settled_codes_[life.number];
  if (code == nullptr) code = std::make_unique<SettledCode>();
  return *code;
}

Status SampleChecker::check(const UnresolvedSample& sample) {
  const uint64_t time = sample.sample.head.time;
  const AddressSpace& space = sample.thread.process->space;
  Last& last = last_of(sample);
  InjectSample at{sample, *last.view, *last.code};
  at.late = time < latest_;
  latest_ = std::max(latest_, time);
  at.settled.begin({space.generation(), space.growth(), at.view.changed()}, at.late ? 0 : time);
  JITSCOPE_TRY(check_stack(at, last));
  count_leaf(at);
  return {};
}

// Remembers the stack when all of it is settled.
Status SampleChecker::check_stack(InjectSample& at, Last& last) {
  std::span<const uint64_t> chain = at.sample.sample.callchain;
  const uint64_t leaf = at.sample.sample.ip;
  if (chain.empty()) chain = {&leaf, 1};
  size_t shared = 0;
  if (!at.late && last.settled == &at.settled && last.opened == at.settled.opened()) {
    shared = last.chain.shared(chain);
  }
  last.settled = nullptr;
  // What is shown for one may hide another, when bodies overlap: once more, and only as much of
  // each as its answer holds for, which hides none. The third time nothing changes.
  constexpr int most_rounds = 3;
  for (int round = 0; round < most_rounds; ++round) {
    const uint64_t changed = at.view.changed();
    const uint64_t opened = at.settled.opened();
    at.all_settled = true;
    at.narrow = round != 0;
    JITSCOPE_ASSIGN(perfdata::ChainEnd end, check_chain(at, chain.first(chain.size() - shared)));
    if (shared != 0 && end.mode != last.chain.mode()) {
      shared = 0;
      JITSCOPE_ASSIGN(end, check_chain(at, chain));
    }
    if (plan_.tables()) JITSCOPE_TRY(check_stack_words(at));
    if (at.view.changed() == changed && at.settled.opened() == opened) {
      if (!at.all_settled) return {};
      last.chain.set(chain, shared, chain.size() - end.marked, end.mode);
      last.settled = &at.settled;
      last.opened = opened;
      return {};
    }
    shared = 0;
  }
  return {};
}

// Only processes have code of ours.
Result<perfdata::ChainEnd> SampleChecker::check_chain(InjectSample& at,
                                                      std::span<const uint64_t> chain) {
  Status status;
  const perfdata::ChainEnd end = perfdata::for_each_run(
      chain, at.sample.sample.mode, [&](CpuMode mode, std::span<const uint64_t> run) {
        if (mode != CpuMode::user || !status) return;
        if (at.late || !at.settled.at(run.front())) status = check_address(at, run.front(), false);
        if (status) status = check_callers(at, run.subspan(1));
      });
  if (!status) return fail(std::move(status.error()));
  return end;
}

Status SampleChecker::check_callers(InjectSample& at, std::span<const uint64_t> callers) {
  for (size_t i = 0; i < callers.size(); ++i) {
    // Most are settled.
    if (!at.late) {
      i += at.settled.callers(callers.subspan(i));
      if (i == callers.size()) break;
    }
    JITSCOPE_TRY(check_address(at, callers[i], true));
  }
  return {};
}

// With its place in known_.
LocationId SampleChecker::locate(const UnresolvedSample& sample, uint64_t ip, bool caller) {
  const LocationId id = session_.locate(sample.thread, ip, caller, sample.sample.head.time);
  if (known_.size() <= id) known_.resize(session_.location_count());
  return id;
}

Status SampleChecker::check_address(InjectSample& at, uint64_t ip, bool caller) {
  const LocationId id = locate(at.sample, ip, caller);
  JITSCOPE_TRY(check_location(at, id));
  if (caller) JITSCOPE_TRY(check_return(at, id, ip));
  settle(at, id, call_address(ip, caller));
  return {};
}

// perf looks for a return address where it is, not for its call: of a body that others overlap,
// that may be another stretch.
Status SampleChecker::check_return(InjectSample& at, LocationId id, uint64_t ip) {
  if (known_[id].kind != Known::Kind::jit || ip <= session_.span(id).range.high) return {};
  const PlannedCode& code = plan_.code(known_[id].code);
  if (ip < code.start || ip - code.start >= code.size) return {};
  const LocationId other = locate(at.sample, ip, false);
  if (session_.location(other).jit != session_.location(id).jit) return {};
  return check_location(at, other);
}

SettledCode::Kind SampleChecker::kind_of(const Known& known) {
  if (known.kind == Known::Kind::jit) return SettledCode::Kind::jit;
  if (known.kind == Known::Kind::nameless) return SettledCode::Kind::nameless;
  return SettledCode::Kind::other;
}

void SampleChecker::settle(InjectSample& at, LocationId id, uint64_t address) {
  const Known& known = known_[id];
  const CodeSpan& span = session_.span(id);
  AddressRange range = span.range;
  bool settled = !at.late;
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
  if (settled) settled = at.settled.settle(address, range, kind_of(known), span.limits);
  at.all_settled = at.all_settled && settled;
}

void SampleChecker::count_leaf(InjectSample& at) {
  const perfdata::Sample& sample = at.sample.sample;
  uint64_t leaf = sample.ip;
  CpuMode mode = sample.mode;
  if (!sample.callchain.empty()) {
    size_t i = 0;
    const std::span<const uint64_t> chain = sample.callchain;
    for (; i < chain.size() && perfdata::is_marker(chain[i]); ++i) {
      mode = perfdata::mode_of_marker(chain[i], mode);
    }
    if (i == chain.size()) return;
    leaf = chain[i];
  }
  if (mode != CpuMode::user) return;
  if (!at.late && at.settled.count(leaf, jit_samples_, nameless_)) return;
  SettledCode::Kind kind = at.settled.kind_at(leaf);
  if (at.late || kind == SettledCode::Kind::open) {
    kind = kind_of(known_[locate(at.sample, leaf, false)]);
  }
  if (kind == SettledCode::Kind::jit) ++jit_samples_;
  if (kind == SettledCode::Kind::nameless) ++nameless_;
}

Status SampleChecker::classify(InjectSample& at, LocationId id) {
  const Location location = session_.location(id);
  const AddressRange& range = session_.span(id).range;
  const Resolver& resolver = session_.resolver();
  const Frame& frame = resolver.frames()[location.frame];
  Known& known = known_[id];
  if (range.low >= kKernelHalf || range.high == UINT64_MAX) {
    known.kind = Known::Kind::elsewhere;
  } else if (location.jit != 0 && !frame.method.empty()) {
    known.kind = Known::Kind::jit;
    known.code =
        plan_.need(location.jit, resolver.jit_code(location.jit), at.sample.sample.head.pid);
    // Each image of the plan has its file, whether anything of it is shown or not.
    JITSCOPE_TRY(mender_.image_file(plan_.code(known.code).image, *at.sample.thread.process));
  } else {
    known.kind = frame.place == FramePlace::memory     ? Known::Kind::nameless
                 : frame.place == FramePlace::unmapped ? Known::Kind::unmapped
                                                       : Known::Kind::native;
  }
  return {};
}

Status SampleChecker::check_location(InjectSample& at, LocationId id) {
  Known& known = known_[id];
  if (known.kind == Known::Kind::unseen) JITSCOPE_TRY(classify(at, id));
  if (known.kind == Known::Kind::elsewhere) return {};
  if (known.kind == Known::Kind::jit) {
    if (known.stamp == at.view.lost()) return {};
    JITSCOPE_TRY(mender_.show(at, id, known.code));
    known.stamp = at.view.lost();
    return {};
  }
  if (known.stamp == at.view.changed()) return {};
  if (known.kind == Known::Kind::native) {
    const AddressRange& range = session_.span(id).range;
    if (!at.view.may_hide_file(range.low, range.high)) return {};
  }
  JITSCOPE_TRY(mender_.hide(at, id));
  known.stamp = at.view.changed();
  return {};
}

Status SampleChecker::check_stack_words(InjectSample& at) {
  const perfdata::Sample& sample = at.sample.sample;
  Status status;
  const auto check_word = [&](uint64_t address, bool caller) {
    if (!status || (!at.late && at.settled.at(call_address(address, caller)))) return;
    const LocationId id = locate(at.sample, address, caller);
    if (known_[id].kind == Known::Kind::unseen) status = classify(at, id);
    if (!status || known_[id].kind != Known::Kind::jit) return;
    status = check_location(at, id);
    settle(at, id, call_address(address, caller));
  };
  if ((sample.user_regs_mask >> machine::perf_instruction_pointer & 1U) != 0) {
    const uint64_t below =
        sample.user_regs_mask & ((uint64_t{1} << machine::perf_instruction_pointer) - 1);
    const auto index = static_cast<size_t>(std::popcount(below));
    if (index < sample.user_regs.size()) check_word(sample.user_regs[index], false);
  }
  if (sample.user_stack.empty()) return status;
  words_.prepare(*at.sample.thread.process);
  words_.for_each(sample.user_stack, [&](uint64_t word) { check_word(word, true); });
  return status;
}

}  // namespace jitscope
