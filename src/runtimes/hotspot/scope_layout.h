// ScopeLayout: where an nmethod keeps its PcDescs, scopes and metadata, and its oop maps.
//
// Told apart by the fields that a JVM exports, each looked up for itself:
//  - scopes: a pointer `_scopes_data_begin`; or an offset `_scopes_data_offset` from the nmethod,
//    or from its `_immutable_data` where there is such a thing;
//  - PcDescs: `_scopes_pcs_offset` from the same place. Inside an nmethod they follow the scopes
//    and end at `_dependencies_offset`; in immutable data the scopes follow them;
//  - metadata (the Methods that scopes name by number): behind the relocations in
//    `CodeBlob::_mutable_data`; or `nmethod::_metadata_offset` from the nmethod, or from its data
//    section in JVMs with immutable data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "runtimes/hotspot/batch.h"
#include "runtimes/hotspot/nmethod_layout.h"
#include "runtimes/hotspot/scope_reader.h"
#include "runtimes/hotspot/vm_structs.h"

namespace jitscope::hotspot {

struct ScopeAreas {
  ByteRange pc_descs;
  ByteRange scopes;
  ByteRange metadata;
  uint64_t oop_maps = 0;  // ImmutableOopMapSet* (OopMapSet* in JDK 8); 0: none
  [[nodiscard]] uint64_t bytes() const {
    return uint64_t{pc_descs.length} + scopes.length + metadata.length;
  }
  bool operator==(const ScopeAreas&) const = default;
};

class ScopeLayout {
 public:
  static Result<ScopeLayout> open(const VmStructs& structs);

  // Bytes of a header that areas() needs.
  [[nodiscard]] uint32_t header_bytes() const { return header_bytes_; }
  // Nothing when the header contradicts itself; empty areas when the nmethod has no PcDescs.
  [[nodiscard]] std::optional<ScopeAreas> areas(const BlobHeader& blob,
                                                std::span<const std::byte> bytes) const;
  [[nodiscard]] const PcDescLayout& pc_desc() const { return pc_desc_; }
  // ImmutableOopMapSet::_count (OopMapSet::_om_count): how many safepoints there are.
  [[nodiscard]] std::optional<FieldRef> oop_map_count() const { return oop_map_count_; }

 private:
  ScopeLayout() = default;

  PcDescLayout pc_desc_;
  FieldRef blob_size_, data_offset_;                         // CodeBlob
  std::optional<FieldRef> immutable_data_, immutable_size_;  // nmethod
  FieldRef scopes_, pcs_, pcs_end_;
  bool scopes_are_pointer_ = false;
  std::optional<FieldRef> mutable_data_, mutable_size_, relocation_size_;  // CodeBlob
  FieldRef metadata_;
  std::optional<FieldRef> oop_maps_;       // CodeBlob
  std::optional<FieldRef> oop_map_count_;  // of what oop_maps_ points to
  uint32_t header_bytes_ = 0;
};

}  // namespace jitscope::hotspot
