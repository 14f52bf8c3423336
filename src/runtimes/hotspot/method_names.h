// MethodNames: from Method pointers to names, parameters and access flags.
//
// Method::_constMethod -> ConstMethod::_constants (ConstantPool), _name_index and _signature_index
// -> Symbols in the pool; ConstantPool::_pool_holder (Klass) -> Klass::_name. Read level by level
// for many methods at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "code/code_body.h"
#include "process/memory_reader.h"
#include "runtimes/hotspot/symbols.h"
#include "runtimes/hotspot/vm_structs.h"

namespace jitscope::hotspot {

struct MethodInfo {
  std::shared_ptr<const MethodName> name;
  // `this` first for methods that are not static.
  std::shared_ptr<const std::vector<Parameter>> parameters;
  uint16_t access = 0;        // JVM_ACC_*, JVMS 4.6
  uint64_t holder = 0;        // Klass*
  uint64_t const_method = 0;  // ConstMethod*
  uint64_t pool = 0;          // ConstantPool*
  [[nodiscard]] bool is_static() const { return (access & 0x0008U) != 0; }
  [[nodiscard]] bool is_native() const { return (access & 0x0100U) != 0; }
  // MethodHandle.invokeBasic and linkTo*: signature-polymorphic stubs without a frame of their own.
  bool method_handle_intrinsic = false;
};

class MethodNames {
 public:
  static Result<MethodNames> open(const VmStructs& structs);
  // One answer for each pointer, in order; nothing where the chain could not be followed.
  std::vector<std::optional<MethodInfo>> read(MemoryReader& memory,
                                              std::span<const uint64_t> methods) const;

 private:
  void read_some(MemoryReader& memory, std::span<const uint64_t> methods, uint64_t& name_bytes,
                 std::vector<std::optional<MethodInfo>>& all) const;

  MethodNames() = default;
  FieldRef const_method_, access_flags_;               // Method
  FieldRef constants_, name_index_, signature_index_;  // ConstMethod
  FieldRef pool_holder_, pool_length_;                 // ConstantPool
  FieldRef klass_name_;                                // Klass
  uint32_t pool_size_ = 0;  // the slots begin behind the ConstantPool itself
  SymbolLayout symbol_layout_;
};

// The access flags and the texts of one method -> MethodInfo; nothing when the descriptor is
// malformed.
[[nodiscard]] std::optional<MethodInfo> make_method_info(std::string_view holder,
                                                         std::string_view method,
                                                         std::string_view descriptor,
                                                         uint16_t access);

}  // namespace jitscope::hotspot
