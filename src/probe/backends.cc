// The backends there are: each is a file of its own and a line in each of the two lists here.
#include <algorithm>
#include <array>

#include "probe/backend.h"

namespace jitscope {

extern const Backend uprobe_backend;
extern const Backend trampoline_backend;
extern const Backend breakpoint_backend;
extern const Backend inplace_backend;

std::span<const Backend* const> all_backends() {
  static constexpr std::array<const Backend*, 4> all = {
      &uprobe_backend,
      &trampoline_backend,
      &breakpoint_backend,
      &inplace_backend,
  };
  return all;
}

const Backend* find_backend(std::string_view name) {
  const auto all = all_backends();
  const auto found = std::ranges::find(all, name, &Backend::name);
  return found == all.end() ? nullptr : *found;
}

Result<std::shared_ptr<KernelProbes>> PlacerContext::kernel_probes() {
  if (!opened) {
    JITSCOPE_ASSIGN(opened, KernelProbes::open(process, wanted));
  }
  return opened;
}

}  // namespace jitscope
