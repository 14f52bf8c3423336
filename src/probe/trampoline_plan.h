// What one batch of trampolines is to become: which entries get a jump, where their slots lie, what
// is written. Nothing here changes a target or an image: Trampolines does, phase by phase.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "live_image/live_image.h"
#include "live_image/relocate.h"
#include "probe/site.h"
#include "process/process.h"
#include "surgery/surgery.h"

namespace jitscope {

struct PlannedJump {
  const SiteRequest* request = nullptr;
  SiteOutcome* outcome = nullptr;
  Bytes body;           // its bytes from the entry on, as far as they can be read
  uint64_t offset = 0;  // of the slot in the image
  Slot slot;
  Bytes jump;

  [[nodiscard]] uint64_t entry() const { return request->body.entry; }
};

// Those of the requests whose entries may be patched over, in the order of their addresses; the
// outcomes of the others say why not. One outcome a request; both outlive the plan.
std::vector<PlannedJump> choose_jumps(const Process& process, std::span<const SiteRequest> requests,
                                      std::span<SiteOutcome> outcomes);
// What fits is placed; the rest says why it is not.
void keep_what_fits(std::vector<PlannedJump>& plan, const LiveImage& image);

[[nodiscard]] uint64_t slots_length(const std::vector<PlannedJump>& plan);
// The slots of a plan as they are to lie in the image, which is mapped at `base`, from offset
// `batch` on. Takes those out of the plan that cannot be moved.
Bytes build_slots(std::vector<PlannedJump>& plan, uint64_t base, uint64_t batch);
// Takes those out that cannot reach their slot.
void encode_jumps(std::vector<PlannedJump>& plan, uint64_t base);

[[nodiscard]] ImageRecord record_of(const PlannedJump& planned);
[[nodiscard]] ImageSymbol symbol_of(const PlannedJump& planned, size_t number);
[[nodiscard]] std::vector<ReadySlot> ready_slots(const std::vector<PlannedJump>& plan);
[[nodiscard]] std::vector<Patch> patches_of(const std::vector<PlannedJump>& plan);
// What the surgery did with a site, for its user.
void tell_outcome(SiteOutcome& outcome, PatchOutcome done);

}  // namespace jitscope
