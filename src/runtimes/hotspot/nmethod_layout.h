// NmethodLayout: how this JVM lays out CodeBlob and nmethod, and what a header says.
//
// Two families are known, told apart by the fields that exist, never by the version (vendors carry
// back layouts):
//  - pointers: CodeBlob::_code_begin, _code_end; nmethod::_verified_entry_point; Method* in
//    CompiledMethod (JDK 9 to about 21) or nmethod;
//  - offsets: CodeBlob::_code_offset, _data_offset; nmethod::_verified_entry_offset from the start
//  of
//    the code.
// They mix freely here: each field is looked up for itself. comp_level and state have other widths
// from one JVM to the next; the field's type name gives the width.
//
// The numbers of nmethod::_state are exported nowhere:
//    JDK 8         0 in use, 1 not entrant, 2 zombie, 3 unloaded
//    JDK 9 to 19  -1 not installed, 0 in use, 1 not used, 2 not entrant, 3 zombie, 4 unloaded
//    JDK 20, 21   -1 not installed, 0 in use, 1 not used, 2 not entrant
//    later        -1 not installed, 0 in use, 1 not entrant
// 0 is the only state that calls enter, in all of them. Zombies (whose Method may be gone) exist
// only where the code sweeper does, which shows in the field nmethod::_stack_traversal_mark; the
// sweeping JVMs differ by one, which shows in the type CompiledMethod. Without the sweeper every
// positive state means "no new calls".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "runtimes/hotspot/vm_structs.h"

namespace jitscope::hotspot {

enum class NmethodState : uint8_t { not_installed, in_use, not_entrant, dead };

// What any CodeBlob's header says.
struct BlobHeader {
  uint64_t blob = 0;
  uint64_t code_begin = 0;
  uint64_t code_end = 0;
  uint64_t name = 0;         // const char*
  uint32_t frame_bytes = 0;  // of a fixed frame, return address included; 0: none
  // Set when the header itself tells (CodeBlob::_kind); else the name does.
  std::optional<bool> is_nmethod;
};

struct NmethodHeader {
  uint64_t method = 0;  // Method*
  uint64_t entry = 0;   // verified entry
  uint64_t osr_entry = 0;
  int64_t entry_bci = -1;  // of an OSR body, or kInvalidatedOsr, or -1
  uint8_t level = 0;
  NmethodState state = NmethodState::in_use;
  uint8_t raw_state = 0;
  uint32_t compile_id = 0;
  // JDK 8 forgets where an OSR body was entered when it invalidates it (InvalidOSREntryBci).
  static constexpr int64_t kInvalidatedOsr = -2;
  [[nodiscard]] bool osr() const { return entry_bci >= 0 || entry_bci == kInvalidatedOsr; }
};

class NmethodLayout {
 public:
  static Result<NmethodLayout> open(const VmStructs& structs);

  // Bytes of a header that decode() needs.
  [[nodiscard]] uint32_t header_bytes() const { return header_bytes_; }
  // Nothing when the header contradicts itself or does not fit into [blob, limit).
  [[nodiscard]] std::optional<BlobHeader> decode_blob(uint64_t blob, uint64_t limit,
                                                      std::span<const std::byte> bytes) const;
  [[nodiscard]] std::optional<NmethodHeader> decode_nmethod(const BlobHeader& header,
                                                            std::span<const std::byte> bytes) const;

  // For identity checks: offsets from the blob.
  [[nodiscard]] FieldRef compile_id_field() const { return compile_id_; }
  [[nodiscard]] FieldRef state_field() const { return state_; }
  [[nodiscard]] FieldRef method_field() const { return method_; }

 private:
  NmethodLayout() = default;
  [[nodiscard]] std::optional<NmethodState> state_of(int64_t raw) const;

  // CodeBlob
  FieldRef name_, size_, frame_size_, code_start_, code_end_;
  std::optional<FieldRef> kind_;
  uint64_t nmethod_kind_ = 0;
  bool code_start_is_pointer_ = false;
  bool code_end_is_pointer_ = false;
  uint64_t blob_size_ = 0;
  // nmethod
  FieldRef method_, verified_entry_, osr_entry_, entry_bci_, level_, state_, compile_id_;
  bool entry_is_pointer_ = false;
  uint64_t nmethod_size_ = 0;
  int64_t last_not_entrant_ = INT8_MAX;  // states above are dead
  int64_t last_state_ = 2;               // states above are nonsense
  int64_t invocation_bci_ = -1;
  int64_t invalidated_osr_bci_ = -2;
  uint32_t header_bytes_ = 0;
};

// "nmethod" or "native nmethod": the names that nmethod.cpp gives its blobs.
[[nodiscard]] bool is_nmethod_name(std::string_view name);

}  // namespace jitscope::hotspot
