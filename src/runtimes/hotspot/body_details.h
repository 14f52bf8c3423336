// BodyDetails: lines and inlining of many nmethods, read out of the JVM's memory a whole group at a
// time and kept as long as the nmethod is the same.
//
// As with names (hotspot_reader.h), an nmethod's header is read before and after everything that
// was read by way of it, and must say the same: nmethod, compile id, method, and where the debug
// information lies. While it does, the JVM keeps alive all that the scopes name.
//
// A range is exact where the JVM recorded debug information between safepoints too
// (DebugNonSafepoints, or a profiler's agent asked for it; it may begin in the middle of a run).
// That is certain for a body that has more PcDescs than it has oop maps: every safepoint has one.
// Its first range begins with the prologue, of which the JVM records nothing, and is never exact.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "formats/jitdump/code_scopes.h"
#include "process/memory_reader.h"
#include "runtimes/hotspot/code_heap.h"
#include "runtimes/hotspot/method_names.h"
#include "runtimes/hotspot/method_sources.h"
#include "runtimes/hotspot/nmethod_layout.h"
#include "runtimes/hotspot/scope_layout.h"
#include "runtimes/hotspot/scope_reader.h"

namespace jitscope::hotspot {

// An nmethod as the last walk of the code heaps found it.
struct PlacedNmethod {
  uint64_t block = 0;  // of the HeapBlock header
  BlobHeader blob;
  uint64_t method = 0;  // Method*
  uint32_t compile_id = 0;
  int64_t entry_bci = -1;
};

class BodyDetails {
 public:
  static Result<BodyDetails> open(const VmStructs& structs);

  // One answer for each nmethod, in order; null where there are no scopes (native wrappers), or
  // where they could not be read, which is counted.
  std::vector<std::shared_ptr<const CodeScopes>> read(MemoryReader& memory, const CodeHeaps& heaps,
                                                      const NmethodLayout& layout,
                                                      const MethodNames& names,
                                                      std::span<const PlacedNmethod* const> wanted,
                                                      Diagnostics& diagnostics);
  // Forgets what is kept for other nmethods than these (sorted by blob.blob), once it is more than
  // there are of these.
  void keep_only(std::span<const PlacedNmethod> alive);

 private:
  struct Kept {
    uint64_t method = 0;
    uint32_t compile_id = 0;
    int64_t entry_bci = -1;
    std::shared_ptr<const CodeScopes> scopes;
    [[nodiscard]] bool is(const PlacedNmethod& nmethod) const {
      return method == nmethod.method && compile_id == nmethod.compile_id &&
             entry_bci == nmethod.entry_bci;
    }
  };
  struct Fresh;
  struct Reading;  // what one read() goes by

  BodyDetails(ScopeLayout layout, MethodSources sources)
      : layout_(std::move(layout)), sources_(std::move(sources)) {}

  [[nodiscard]] Unsigned5 form() const;
  void read_headers(Reading& reading, std::vector<Fresh>& fresh) const;
  void read_group(Reading& reading, std::span<Fresh> group);
  void decode_group(Reading& reading, std::span<Fresh> group);
  void count_oop_maps(Reading& reading, std::span<Fresh> group) const;
  void check_unchanged(Reading& reading, std::span<Fresh> group) const;
  void finish_group(Reading& reading, std::span<Fresh> group);

  ScopeLayout layout_;
  MethodSources sources_;
  std::array<uint64_t, 2> decoded_{};        // nmethods that passed in each form
  std::unordered_map<uint64_t, Kept> kept_;  // by nmethod address
};

}  // namespace jitscope::hotspot
