// Backend: a way to make sites fire. One row each; CONTRIBUTING.md has the recipe for a new one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "probe/hit_source.h"
#include "probe/kernel_probes.h"
#include "probe/site_placer.h"
#include "process/process.h"
#include "runtimes/common/code_source.h"

namespace jitscope {

// What a placer may work with. Outlives it.
struct PlacerContext {
  const Process& process;
  const Snapshot& snapshot;  // the bodies known now
  HitOptions wanted;
  std::shared_ptr<KernelProbes> opened = {};

  // eBPF's hits, one source for all backends whose probes are the kernel's. Opened when it is first
  // asked for.
  Result<std::shared_ptr<KernelProbes>> kernel_probes();
};

// Which code a backend can have sites on.
enum class TakesCode : uint8_t { any, in_memory, of_files };

struct Backend {
  std::string_view name;  // as users write it
  TakesCode takes = TakesCode::any;
  // It changes code, so it refuses where the runtime moves that.
  bool changes_code = false;
  // Without --backend the first of these that does not refuse is taken, and for single bodies where
  // that cannot be used the next one.
  bool automatic = false;
  // Why it cannot be used for this source, "" when it can; null: it always can.
  std::string (*why_not)(const Process& process, const CodeSource& source) = nullptr;
  // not_possible where it cannot serve so many bodies at once; null: any number.
  Status (*check_number)(size_t bodies, const CodeSource& source) = nullptr;
  // Opens what hits need; changes nothing in the target.
  Result<std::unique_ptr<SitePlacer>> (*make)(PlacerContext& context) = nullptr;
};

[[nodiscard]] inline bool takes(const Backend& backend, const CodeBody& body) {
  return backend.takes == TakesCode::any ||
         (backend.takes == TakesCode::of_files) == (body.file != nullptr);
}

// In the order of preference.
[[nodiscard]] std::span<const Backend* const> all_backends();
// Null: there is none of this name.
[[nodiscard]] const Backend* find_backend(std::string_view name);

}  // namespace jitscope
