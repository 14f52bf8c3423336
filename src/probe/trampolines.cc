#include "probe/trampolines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>

#include "live_image/relocate.h"
#include "probe/eligibility.h"
#include "probe/patience.h"

namespace jitscope {
namespace {

constexpr uint64_t slot_bytes = slot_stride;
constexpr uint64_t common_bytes = 16;
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
  const std::vector<Bytes> bodies = read_bodies(process_, requests);

  struct Candidate {
    size_t request;
    uint64_t offset;
    Slot slot;
  };
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < requests.size(); ++i) {
    outcomes[i].reason = why_not(requests[i].body, bodies[i], Backend::trampoline);
    if (outcomes[i].reason.empty()) candidates.push_back({i, 0, {}});
  }
  // A source may name the same bytes twice; two jumps cannot lie there.
  std::ranges::stable_sort(
      candidates, {}, [&](const Candidate& each) { return requests[each.request].body.entry; });
  uint64_t taken_to = 0;
  std::erase_if(candidates, [&](const Candidate& each) {
    const uint64_t entry = requests[each.request].body.entry;
    if (entry < taken_to) {
      outcomes[each.request].reason = "another body begins at the same bytes";
      return true;
    }
    taken_to = entry + jump_length;
    return false;
  });
  if (candidates.empty()) return outcomes;

  // What fits is placed; the rest says why it is not.
  LiveImage& image = target_.image();
  const size_t room = image.record_capacity() - image.record_count();
  for (size_t i = room; i < candidates.size(); ++i) {
    outcomes[candidates[i].request].reason =
        fmt::format("the live image is full ({} sites)", image.record_capacity());
  }
  if (candidates.size() > room) candidates.resize(room);
  if (candidates.empty()) return outcomes;
  // Not a page of the image for each try while a debugger is attached.
  JITSCOPE_TRY(wait_until_free(process_, patience_));
  JITSCOPE_ASSIGN(const uint64_t batch, begin_batch(candidates.size() * slot_bytes));
  Bytes text(candidates.size() * slot_bytes, std::byte{0xcc});
  uint64_t offset = batch;
  std::vector<Candidate> built;
  for (Candidate& candidate : candidates) {
    const SiteRequest& request = requests[candidate.request];
    auto slot =
        build_slot(bodies[candidate.request], request.body.entry, base() + offset, request.common);
    if (!slot) {
      outcomes[candidate.request].reason = to_string(slot.error());
      continue;
    }
    std::ranges::copy(slot->code, text.begin() + static_cast<ptrdiff_t>(offset - batch));
    built.push_back({candidate.request, offset, std::move(*slot)});
    offset += slot_bytes;
  }
  if (built.empty()) return outcomes;
  JITSCOPE_TRY(image.write_text(batch, text));
  JITSCOPE_TRY(verify_in_target(batch, text));

  std::vector<Patch> patches;
  std::vector<ImageSymbol> symbols;
  std::vector<const Candidate*> patched;
  std::vector<ReadySlot> slots;
  for (const Candidate& candidate : built) {
    const SiteRequest& request = requests[candidate.request];
    const Bytes& body = bodies[candidate.request];
    SiteOutcome& outcome = outcomes[candidate.request];
    auto jump = encode_jump(request.body.entry, base() + candidate.offset);
    if (!jump) {
      outcome.reason = to_string(jump.error());
      continue;
    }
    ImageRecord record;
    record.entry = request.body.entry;
    record.slot_offset = candidate.offset;
    record.original_length = std::min<uint32_t>(candidate.slot.covered, live_image_max_original);
    std::copy_n(body.begin(), record.original_length, record.original);
    JITSCOPE_TRY(image.add_record(record));
    slots.push_back({request.id, candidate.offset});
    Patch patch;
    patch.address = request.body.entry;
    patch.expected.assign(body.begin(),
                          body.begin() + std::max<ptrdiff_t>(candidate.slot.covered, 8));
    patch.replacement = std::move(*jump);
    patch.guards = guards_of(request.body);
    patch.covered = candidate.slot.instructions > 1 ? candidate.slot.covered : 0;
    patch.scan_stacks = candidate.slot.instructions > 1;
    patches.push_back(std::move(patch));
    patched.push_back(&candidate);
    symbols.push_back(
        {fmt::format("jitscope.slot.{}.{}", to_string(request.body.tier), image.record_count()),
         candidate.offset, candidate.slot.code.size(), false});
  }
  if (patches.empty()) return outcomes;
  JITSCOPE_TRY(image.add_symbols(symbols));
  if (ready) JITSCOPE_TRY(ready(target_.file_for_kernel(), slots));
  JITSCOPE_ASSIGN(const SurgeryReport report, apply_patiently(process_, patches, patience_));
  account(report.stop);
  for (size_t i = 0; i < patches.size(); ++i) {
    const SiteRequest& request = requests[patched[i]->request];
    SiteOutcome& outcome = outcomes[patched[i]->request];
    switch (report.outcomes[i]) {
      case PatchOutcome::applied: {
        outcome.placed = true;
        const Bytes& body = bodies[patched[i]->request];
        // What was written here for a body that is gone is no longer there.
        std::erase_if(jumps_, [&](const PlacedJump& old) {
          return old.entry < request.body.entry + jump_length &&
                 request.body.entry < old.entry + jump_length;
        });
        jumps_.push_back({request.id, request.body.entry, base() + patched[i]->offset,
                          Bytes(body.begin(), body.begin() + jump_length), patches[i].replacement});
        break;
      }
      case PatchOutcome::refused_bytes:
      case PatchOutcome::refused_guard:
        outcome.retry = true;
        outcome.reason = "the runtime changed the body just before it was patched";
        break;
      case PatchOutcome::refused_thread:
        outcome.retry = true;
        outcome.reason = "a thread stood inside its first instructions at every try";
        break;
      case PatchOutcome::rolled_back:
        outcome.retry = true;
        outcome.reason = "writing another site failed, all were taken back";
        break;
    }
  }
  return outcomes;
}

Result<std::vector<uint64_t>> Trampolines::add_common_points(std::span<const CommonPoint> points) {
  const Bytes point = common_probe_point();
  LiveImage& image = target_.image();
  JITSCOPE_ASSIGN(const uint64_t batch, begin_batch(points.size() * common_bytes));
  Bytes text(points.size() * common_bytes, std::byte{0xcc});
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
