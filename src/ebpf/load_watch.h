// LoadWatch: tells at once when a HotSpot JVM publishes or frees a compiled body, from the USDT
// probes hotspot:compiled__method__load and __unload of its libjvm (they fire without any flag).
// Costs the JVM a few microseconds for each compiled method. Needs what BpfSession needs, and the
// kernel's BTF.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "process/process.h"

namespace jitscope {

struct LoadEvent {
  std::string_view class_name;  // "java/util/HashMap", cut to 127 bytes
  std::string_view method;      // "put", cut likewise
  uint64_t code = 0;            // 0 for unload events
  uint64_t time_ns = 0;         // CLOCK_MONOTONIC
  bool unload = false;
};

class LoadWatch {
 public:
  // `file`: the libjvm as this process sees it.
  static Result<std::unique_ptr<LoadWatch>> open(const Process& process, const std::string& file);
  virtual ~LoadWatch() = default;
  // Hands waiting events over, without waiting; true when events were lost (look at everything
  // again).
  virtual bool poll(const std::function<void(const LoadEvent&)>& on_load) = 0;
  // Readable as soon as an event waits that came when none did.
  [[nodiscard]] virtual int wake_fd() const = 0;
};

}  // namespace jitscope
