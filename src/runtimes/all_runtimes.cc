#include "runtimes/all_runtimes.h"

#include <algorithm>
#include <vector>

#include "runtimes/dotnet/dotnet_runtime.h"
#include "runtimes/erlang/erlang_runtime.h"
#include "runtimes/hotspot/hotspot_runtime.h"
#include "runtimes/mono/mono_runtime.h"
#include "runtimes/others/other_runtimes.h"
#include "runtimes/php/php_runtime.h"
#include "runtimes/v8/v8_runtime.h"

namespace jitscope {
namespace {

std::vector<const RuntimeRow*>& rows() {
  static std::vector<const RuntimeRow*> all = {
      &kOtherRuntimes, &kHotspotRuntime, &kV8Runtime,   &kDotnetRuntime,
      &kErlangRuntime, &kPhpRuntime,     &kMonoRuntime,
  };
  return all;
}

}  // namespace

std::span<const RuntimeRow* const> all_runtimes() {
  return rows();
}

const RuntimeRow& row_of(Runtime runtime) {
  const auto row = std::ranges::find(rows(), runtime, &RuntimeRow::runtime);
  return row == rows().end() ? kOtherRuntimes : **row;
}

ExtraRuntime::ExtraRuntime(const RuntimeRow& row) {
  rows().push_back(&row);
}

ExtraRuntime::~ExtraRuntime() {
  rows().pop_back();
}

}  // namespace jitscope
