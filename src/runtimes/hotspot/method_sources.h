// MethodSources: where in the sources methods stand: the file of their class and the lines of their
// bytecode.
//
// ConstMethod: the bytecode follows the struct itself, and the compressed line number table follows
// the bytecode (constMethod.hpp) when a flag says that there is one. The file is the SourceFile
// attribute: an index into the constant pool that stands in the ConstantPool (JDK 15 on) or in the
// InstanceKlass. Classes without it, or JVMs that do not tell, have file "".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "process/memory_reader.h"
#include "runtimes/hotspot/line_numbers.h"
#include "runtimes/hotspot/method_names.h"
#include "runtimes/hotspot/symbols.h"
#include "runtimes/hotspot/unsigned5.h"
#include "runtimes/hotspot/vm_structs.h"

namespace jitscope::hotspot {

struct MethodSource {
  std::string file;  // "java/util/HashMap.java"; "" when not known
  LineNumbers lines;
};

class MethodSources {
 public:
  static Result<MethodSources> open(const VmStructs& structs);
  // One answer for each method, in order; an empty one where a pointer is null (no name either).
  // Tables that could not be read are counted in `unreadable`.
  std::vector<MethodSource> read(MemoryReader& memory, std::span<const MethodInfo* const> methods,
                                 Unsigned5 form, uint64_t& unreadable) const;

 private:
  MethodSources() = default;
  void read_files(MemoryReader& memory, std::span<const MethodInfo* const> methods,
                  std::vector<MethodSource>& result) const;

  FieldRef code_size_, total_size_, flags_;  // ConstMethod
  uint64_t line_table_flag_ = 0;
  uint32_t const_method_size_ = 0;
  std::optional<FieldRef> pool_file_index_;   // ConstantPool
  std::optional<FieldRef> klass_file_index_;  // InstanceKlass
  FieldRef pool_length_;
  uint32_t pool_size_ = 0;
  SymbolLayout symbol_layout_;
};

// The path that tools look for: the directory of the class's package and the file's name.
// `class_name` as HotSpot has it: "java/util/HashMap". "" for a file that is no name.
[[nodiscard]] std::string source_path(std::string_view class_name, std::string_view file);

}  // namespace jitscope::hotspot
