#include "runtimes/all_runtimes.h"

#include <algorithm>
#include <array>

#include "runtimes/dotnet/dotnet_runtime.h"
#include "runtimes/erlang/erlang_runtime.h"
#include "runtimes/hotspot/hotspot_runtime.h"
#include "runtimes/mono/mono_runtime.h"
#include "runtimes/others/other_runtimes.h"
#include "runtimes/php/php_runtime.h"
#include "runtimes/v8/v8_runtime.h"

namespace jitscope {
namespace {

constexpr std::array<const RuntimeRow*, 7> kRows = {
    &kHotspotRuntime, &kV8Runtime,   &kDotnetRuntime, &kErlangRuntime,
    &kPhpRuntime,     &kMonoRuntime, &kOtherRuntimes,
};

}  // namespace

std::span<const RuntimeRow* const> all_runtimes() {
  return kRows;
}

const RuntimeRow& row_of(Runtime runtime) {
  const auto row = std::ranges::find(kRows, runtime, &RuntimeRow::runtime);
  return row == kRows.end() ? *kRows.back() : **row;
}

}  // namespace jitscope
