// HotspotReader: the code bodies and loaded methods of one HotSpot, out of its memory alone.
//
// This is all of the reading that needs no /proc: it works over any MemoryReader, so it is tested
// and fuzzed with made-up memory. HotspotSource joins it to a live process.
//
// Nothing is stopped, so what is read may change meanwhile. What keeps a name from being wrong:
//  - a body is taken only if its block, its header and its method agree with each other;
//  - a name is kept under (nmethod, compile id, Method*), so a Method that was freed and another
//  one
//    put in its place never inherits it;
//  - after the names of new bodies were read, their headers are read again and must be the same.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "code/code_body.h"
#include "process/memory_reader.h"
#include "runtimes/common/code_source.h"
#include "runtimes/hotspot/body_details.h"
#include "runtimes/hotspot/class_graph.h"
#include "runtimes/hotspot/code_heap.h"
#include "runtimes/hotspot/method_names.h"
#include "runtimes/hotspot/nmethod_layout.h"
#include "runtimes/hotspot/vm_structs.h"

namespace jitscope::hotspot {

class HotspotReader {
 public:
  static Result<HotspotReader> open(MemoryReader& memory, const SymbolLookup& symbol,
                                    CallConvention convention);

  Result<Snapshot> read(MemoryReader& memory, Diagnostics& diagnostics);
  // See CodeSource::only_places().
  void only_places() { only_places_ = true; }
  // Of bodies that the last read() gave; see CodeSource::details.
  std::vector<BodyDetail> details(MemoryReader& memory, Diagnostics& diagnostics,
                                  std::span<const CodeBody* const> bodies);
  [[nodiscard]] bool knows_loaded_methods() const { return classes_.has_value(); }
  // See why_code_may_move() in vm_flags.h; as of open(), since no JVM that has started changes it.
  [[nodiscard]] const std::string& why_code_may_move() const { return why_code_may_move_; }
  Result<std::vector<std::shared_ptr<const MethodName>>> loaded_methods(
      MemoryReader& memory, Diagnostics& diagnostics) const;

 private:
  struct Nmethod {
    uint64_t block = 0;
    BlobHeader blob;
    NmethodHeader header;
    const MethodInfo* info = nullptr;
    std::optional<uint64_t> entry_bytes;  // the first 8, little endian; nothing when not readable
  };
  struct Stub {
    BlobHeader blob;
    std::string name;
  };
  struct Known {
    uint32_t compile_id = 0;
    uint64_t method = 0;
    MethodInfo info;
    bool seen = false;
  };

  HotspotReader(CodeHeaps heaps, NmethodLayout layout, MethodNames names, CallConvention convention)
      : heaps_(std::move(heaps)),
        layout_(std::move(layout)),
        names_(std::move(names)),
        convention_(convention) {}

  Status read_blocks(MemoryReader& memory, Diagnostics& diagnostics, std::vector<Nmethod>& nmethods,
                     std::vector<Stub>& stubs, uint64_t& torn);
  void read_names(MemoryReader& memory, Diagnostics& diagnostics, std::vector<Nmethod>& nmethods,
                  uint64_t& torn);
  void read_entry_bytes(MemoryReader& memory, std::vector<Nmethod>& nmethods) const;
  Status check_entries(const std::vector<Nmethod>& nmethods);
  [[nodiscard]] CodeBody body_of(const Nmethod& nmethod) const;
  void remember(std::span<const Nmethod> nmethods, std::span<const Stub> stubs);

  CodeHeaps heaps_;
  NmethodLayout layout_;
  // Around all code heaps, as of the last read_blocks().
  uint64_t heaps_low_ = 0;
  uint64_t heaps_high_ = 0;
  MethodNames names_;
  std::optional<ClassGraph> classes_;
  std::optional<BodyDetails> details_;
  CallConvention convention_;
  std::string why_code_may_move_;
  bool only_places_ = false;
  bool entries_checked_ = false;  // there were enough of them, and they are method entries
  std::unordered_map<uint64_t, Known> known_;  // by nmethod address
  std::unordered_map<std::string, std::shared_ptr<const MethodName>> stub_names_;
  // As of the last read().
  std::vector<PlacedNmethod> placed_;                    // by address
  std::unordered_map<uint64_t, FrameInfo> stub_frames_;  // by the code's address
};

}  // namespace jitscope::hotspot
