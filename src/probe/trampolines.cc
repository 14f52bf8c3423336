#include "probe/trampolines.h"
#include "arch/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>

#include "live_image/relocate.h"
#include "probe/code_range.h"
#include "probe/eligibility.h"
#include "probe/patience.h"

namespace jitscope {
namespace {

constexpr uint64_t common_bytes = 16;

}  // namespace

void Trampolines::account(const StopReport& stop) {
  stopped_ += stop.stopped;
  longest_stop_ = std::max(longest_stop_, stop.stopped);
}

Status Trampolines::prepare(uint64_t low, uint64_t high) {
  if (prepared()) return {};
  Status mapped = target_.map_near(low, high, [&](const StopReport& stop) { account(stop); });
  if (!mapped) unlink_file();
  return mapped;
}

Status Trampolines::prepare_near(uint64_t anchor, const Snapshot& snapshot) {
  if (prepared()) return {};
  JITSCOPE_ASSIGN(const auto maps, process_.maps());
  const auto [low, high] = code_range_around(anchor, snapshot, maps);
  return prepare(low, high);
}

Result<uint64_t> Trampolines::begin_batch(uint64_t bytes) {
  JITSCOPE_TRY(target_.make_room(bytes, [&](const StopReport& stop) { account(stop); }));
  return target_.image().begin_batch(bytes);
}

Status Trampolines::verify_in_target(uint64_t offset, std::span<const std::byte> code) {
  Bytes seen(code.size());
  JITSCOPE_TRY(process_.memory().read(base() + offset, seen));
  if (!std::ranges::equal(seen, code)) {
    return fail(ErrorKind::not_possible, "the live image's slots do not appear in the target",
                file_here(), "its file system does not keep mappings and file alike");
  }
  return {};
}

Result<std::vector<SiteOutcome>> Trampolines::place(std::span<const SiteRequest> requests,
                                                    const SlotsReady& ready) {
  std::vector<SiteOutcome> outcomes(requests.size());
  std::vector<PlannedJump> plan = choose_jumps(process_, requests, outcomes);
  if (plan.empty()) return outcomes;
  keep_what_fits(plan, target_.image());
  if (plan.empty()) return outcomes;
  // Not a page of the image for each try while a debugger is attached.
  JITSCOPE_TRY(wait_until_free(process_, patience_));
  JITSCOPE_TRY(write_slots(plan));
  if (plan.empty()) return outcomes;
  encode_jumps(plan, base());
  if (plan.empty()) return outcomes;
  JITSCOPE_TRY(publish(plan, ready));
  JITSCOPE_TRY(patch(plan));
  return outcomes;
}

// Slots are there, and seen to be there, before anybody hears of them.
Status Trampolines::write_slots(std::vector<PlannedJump>& plan) {
  JITSCOPE_ASSIGN(const uint64_t batch, begin_batch(slots_length(plan)));
  const Bytes text = build_slots(plan, base(), batch);
  if (plan.empty()) return {};
  JITSCOPE_TRY(target_.image().write_text(batch, text));
  return verify_in_target(batch, text);
}

// The image's table first: whatever happens from now on, undo finds each jump there.
Status Trampolines::publish(const std::vector<PlannedJump>& plan, const SlotsReady& ready) {
  LiveImage& image = target_.image();
  std::vector<ImageSymbol> symbols;
  for (const PlannedJump& each : plan) {
    JITSCOPE_TRY(image.add_record(record_of(each)));
    symbols.push_back(symbol_of(each, image.record_count()));
  }
  JITSCOPE_TRY(image.add_symbols(symbols));
  if (ready) JITSCOPE_TRY(ready(target_.file_for_kernel(), ready_slots(plan)));
  return {};
}

Status Trampolines::patch(const std::vector<PlannedJump>& plan) {
  JITSCOPE_ASSIGN(const SurgeryReport report,
                  apply_patiently(process_, patches_of(plan), patience_));
  account(report.stop);
  for (size_t i = 0; i < plan.size(); ++i) {
    tell_outcome(*plan[i].outcome, report.outcomes[i]);
    if (plan[i].outcome->placed) remember(plan[i]);
  }
  return {};
}

void Trampolines::remember(const PlannedJump& planned) {
  // What was written here for a body that is gone is no longer there.
  std::erase_if(jumps_, [&](const PlacedJump& old) {
    return old.entry < planned.entry() + jump_length && planned.entry() < old.entry + jump_length;
  });
  jumps_.push_back({planned.request->id, planned.entry(), base() + planned.offset,
                    Bytes(planned.body.begin(), planned.body.begin() + jump_length), planned.jump});
}

Result<std::vector<uint64_t>> Trampolines::add_common_points(std::span<const CommonPoint> points) {
  const Bytes point = common_probe_point();
  LiveImage& image = target_.image();
  JITSCOPE_ASSIGN(const uint64_t batch, begin_batch(points.size() * common_bytes));
  Bytes text(points.size() * common_bytes, machine::trap_byte);
  std::vector<uint64_t> offsets;
  std::vector<ImageSymbol> symbols;
  for (size_t i = 0; i < points.size(); ++i) {
    const uint64_t offset = batch + i * common_bytes;
    std::ranges::copy(point, text.begin() + static_cast<ptrdiff_t>(i * common_bytes));
    offsets.push_back(offset);
    symbols.push_back({points[i].symbol, offset, point.size(), true});
    if (!points[i].alias.empty() && points[i].alias != points[i].symbol) {
      symbols.push_back({points[i].alias, offset, point.size(), true});
    }
  }
  JITSCOPE_TRY(image.write_text(batch, text));
  JITSCOPE_TRY(verify_in_target(batch, text));
  JITSCOPE_TRY(image.add_symbols(symbols));
  return offsets;
}

Result<size_t> Trampolines::withdraw(std::span<const uint32_t> ids) {
  const std::unordered_set<uint32_t> wanted(ids.begin(), ids.end());
  std::vector<Patch> patches;
  for (const PlacedJump& jump : jumps_) {
    if (!wanted.empty() && !wanted.contains(jump.id)) continue;
    Patch patch;
    patch.address = jump.entry;
    patch.expected = jump.jump;
    patch.replacement = jump.original;
    patches.push_back(std::move(patch));
  }
  if (patches.empty()) return 0;
  JITSCOPE_ASSIGN(const SurgeryReport report, apply_patiently(process_, patches, patience_));
  account(report.stop);
  size_t restored = 0;
  for (const PatchOutcome outcome : report.outcomes) {
    if (outcome == PatchOutcome::applied) ++restored;
    if (outcome == PatchOutcome::rolled_back) {
      return fail(ErrorKind::not_possible, "entries could not be written back", file_here(),
                  fmt::format("take them back with: jitscope expose --undo -p {}", process_.pid()));
    }
  }
  std::erase_if(jumps_,
                [&](const PlacedJump& jump) { return wanted.empty() || wanted.contains(jump.id); });
  return restored;
}

std::string Trampolines::remark() const {
  if (!prepared() || !target_.home().path_in_target.empty()) return {};
  return fmt::format("the live image lies in a memfd, no directory would do: {}",
                     fmt::join(target_.home().passed_over, "; "));
}

void Trampolines::unlink_file() {
  target_.unlink_file();
}

}  // namespace jitscope
