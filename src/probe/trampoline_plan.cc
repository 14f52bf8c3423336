#include "probe/trampoline_plan.h"
#include "arch/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "probe/eligibility.h"

namespace jitscope {
namespace {

constexpr uint64_t slot_bytes = slot_stride;
constexpr size_t body_bytes_for_branches = 4096;

// The bytes of a body from its entry on, as far as they can be read; for many bodies at once.
std::vector<Bytes> read_bodies(const Process& process, std::span<const SiteRequest> requests) {
  std::vector<Bytes> bytes(requests.size());
  std::vector<MemoryReader::Range> ranges;
  for (size_t i = 0; i < requests.size(); ++i) {
    const CodeBody& body = requests[i].body;
    if (body.entry < body.address || body.entry - body.address >= body.size) continue;
    const uint64_t behind = body.size - (body.entry - body.address);
    bytes[i].resize(std::min<uint64_t>(behind, body_bytes_for_branches));
    ranges.push_back({body.entry, bytes[i], false});
  }
  process.memory().read_many(ranges);
  size_t next = 0;
  for (Bytes& each : bytes) {
    if (each.empty()) continue;
    if (!ranges[next++].ok) each.clear();
  }
  return bytes;
}

// A source may name the same bytes twice; two jumps cannot lie there.
void drop_overlaps(std::vector<PlannedJump>& plan) {
  std::ranges::stable_sort(plan, {}, &PlannedJump::entry);
  uint64_t taken_to = 0;
  std::erase_if(plan, [&](const PlannedJump& each) {
    if (each.entry() < taken_to) {
      each.outcome->reason = "another body begins at the same bytes";
      return true;
    }
    taken_to = each.entry() + jump_length;
    return false;
  });
}

}  // namespace

std::vector<PlannedJump> choose_jumps(const Process& process, std::span<const SiteRequest> requests,
                                      std::span<SiteOutcome> outcomes) {
  std::vector<Bytes> bodies = read_bodies(process, requests);
  std::vector<PlannedJump> plan;
  for (size_t i = 0; i < requests.size(); ++i) {
    outcomes[i].reason = why_not(requests[i].body, bodies[i], EntryUse::jump);
    if (!outcomes[i].reason.empty()) continue;
    plan.push_back({&requests[i], &outcomes[i], std::move(bodies[i]), 0, {}, {}});
  }
  drop_overlaps(plan);
  return plan;
}

void keep_what_fits(std::vector<PlannedJump>& plan, const LiveImage& image) {
  const size_t room = image.record_capacity() - image.record_count();
  for (size_t i = room; i < plan.size(); ++i) {
    plan[i].outcome->reason =
        fmt::format("the live image is full ({} sites)", image.record_capacity());
  }
  if (plan.size() > room) plan.resize(room);
}

uint64_t slots_length(const std::vector<PlannedJump>& plan) {
  return plan.size() * slot_bytes;
}

Bytes build_slots(std::vector<PlannedJump>& plan, uint64_t base, uint64_t batch) {
  Bytes text(slots_length(plan), machine::trap_byte);
  std::vector<PlannedJump> built;
  for (PlannedJump& each : plan) {
    const uint64_t at = built.size() * slot_bytes;
    auto slot = build_slot(each.body, each.entry(), base + batch + at, each.request->common);
    if (!slot) {
      each.outcome->reason = to_string(slot.error());
      continue;
    }
    std::ranges::copy(slot->code, text.begin() + static_cast<ptrdiff_t>(at));
    each.offset = batch + at;
    each.slot = std::move(*slot);
    built.push_back(std::move(each));
  }
  plan = std::move(built);
  return text;
}

void encode_jumps(std::vector<PlannedJump>& plan, uint64_t base) {
  std::vector<PlannedJump> encoded;
  for (PlannedJump& each : plan) {
    auto jump = encode_jump(each.entry(), base + each.offset);
    if (!jump) {
      each.outcome->reason = to_string(jump.error());
      continue;
    }
    each.jump = std::move(*jump);
    encoded.push_back(std::move(each));
  }
  plan = std::move(encoded);
}

ImageRecord record_of(const PlannedJump& planned) {
  ImageRecord record;
  record.entry = planned.entry();
  record.slot_offset = planned.offset;
  record.original_length = std::min<uint32_t>(planned.slot.covered, live_image_max_original);
  std::copy_n(planned.body.begin(), record.original_length, record.original);
  return record;
}

ImageSymbol symbol_of(const PlannedJump& planned, size_t number) {
  return {fmt::format("jitscope.slot.{}.{}", to_string(planned.request->body.tier), number),
          planned.offset, planned.slot.code.size(), false};
}

std::vector<ReadySlot> ready_slots(const std::vector<PlannedJump>& plan) {
  std::vector<ReadySlot> slots;
  for (const PlannedJump& each : plan) slots.push_back({each.request->id, each.offset});
  return slots;
}

std::vector<Patch> patches_of(const std::vector<PlannedJump>& plan) {
  std::vector<Patch> patches;
  for (const PlannedJump& each : plan) {
    Patch patch;
    patch.address = each.entry();
    patch.expected.assign(each.body.begin(),
                          each.body.begin() + std::max<ptrdiff_t>(each.slot.covered, 8));
    patch.replacement = each.jump;
    patch.guards = guards_of(each.request->body);
    patch.covered = each.slot.instructions > 1 ? each.slot.covered : 0;
    patch.scan_stacks = each.slot.instructions > 1;
    patches.push_back(std::move(patch));
  }
  return patches;
}

void tell_outcome(SiteOutcome& outcome, PatchOutcome done) {
  outcome.placed = done == PatchOutcome::applied;
  outcome.retry = !outcome.placed;
  switch (done) {
    case PatchOutcome::applied:
      break;
    case PatchOutcome::refused_bytes:
    case PatchOutcome::refused_guard:
      outcome.reason = "the runtime changed the body just before it was patched";
      break;
    case PatchOutcome::refused_thread:
      outcome.reason = "a thread stood inside its first instructions at every try";
      break;
    case PatchOutcome::rolled_back:
      outcome.reason = "writing another site failed, all were undone";
      break;
  }
}

}  // namespace jitscope
