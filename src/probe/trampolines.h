// Trampolines: the live image of one target and the jumps into it.
//
// A batch is: slots written to the image file, checked in the target's memory, registered with the
// kernel by the caller's hook, and only then the entries patched, in one stop. Each batch starts on
// a fresh page, no slot changes while this image is there, and an entry is put back only where our
// own jump still lies (facts behind these rules: docs/how-it-works.md).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "live_image/live_image.h"
#include "probe/patience.h"
#include "probe/site.h"
#include "probe/target_image.h"
#include "probe/trampoline_plan.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

class Trampolines {
 public:
  explicit Trampolines(const Process& process) : process_(process), target_(process) {}

  // How long to wait where another tracer holds the process; from now on.
  void set_patience(const Patience& patience) {
    patience_ = patience;
    target_.set_patience(patience);
  }

  // Where the slots' probe instructions lie, for the caller to register uprobes on: all or none.
  // `file` names the image to the kernel for the time of the call.
  using SlotsReady = std::function<Status(const std::string& file, std::span<const ReadySlot>)>;

  // Makes and maps the image near the code in [low, high), if there is none yet.
  Status prepare(uint64_t low, uint64_t high);
  // The same near the code around `anchor`.
  Status prepare_near(uint64_t anchor, const Snapshot& snapshot);
  [[nodiscard]] bool prepared() const { return target_.mapped(); }

  // One outcome a request, in order. `ready` may be empty (expose: other tools attach). Errors are
  // those that concern all of them (the target is gone, no stop possible); nothing is patched then.
  Result<std::vector<SiteOutcome>> place(std::span<const SiteRequest> requests,
                                         const SlotsReady& ready);

  // Shared probe points, one a name, with symbols (and aliases); their offsets in the file.
  struct CommonPoint {
    std::string symbol;
    std::string alias;  // "" for none
  };
  Result<std::vector<uint64_t>> add_common_points(std::span<const CommonPoint> points);

  // Puts back the entries of these sites (all when `ids` is empty) where our jump still lies. The
  // slots stay. How many entries were put back. After an error nothing has changed.
  Result<size_t> withdraw(std::span<const uint32_t> ids = {});

  // After withdraw(): takes the file's name away (the mapping stays in the target).
  void unlink_file();

  [[nodiscard]] uint64_t base() const { return target_.base(); }
  [[nodiscard]] uint64_t length() const { return target_.length(); }
  // As this process and other tools here open it.
  [[nodiscard]] const std::string& file_here() const { return target_.home().path_here; }
  // What the user should know of where the image lies; "" for a file in a usual place.
  [[nodiscard]] std::string remark() const;
  [[nodiscard]] std::chrono::nanoseconds stopped() const { return stopped_; }
  [[nodiscard]] std::chrono::nanoseconds longest_stop() const { return longest_stop_; }
  [[nodiscard]] const std::vector<PlacedJump>& jumps() const { return jumps_; }

 private:
  Result<uint64_t> begin_batch(uint64_t bytes);
  // The phases of place(), in this order, behind choose_jumps().
  Status write_slots(std::vector<PlannedJump>& plan);
  Status publish(const std::vector<PlannedJump>& plan, const SlotsReady& ready);
  Status patch(const std::vector<PlannedJump>& plan);
  void remember(const PlannedJump& planned);

  void account(const StopReport& stop);
  Status verify_in_target(uint64_t offset, std::span<const std::byte> code);

  const Process& process_;
  Patience patience_;
  TargetImage target_;
  std::vector<PlacedJump> jumps_;
  std::chrono::nanoseconds stopped_{0};
  std::chrono::nanoseconds longest_stop_{0};
};

}  // namespace jitscope
