// ClassGraph: every class that the JVM has loaded, and its methods, compiled or not.
//
// ClassLoaderDataGraph::_head -> ClassLoaderData::_next; ClassLoaderData::_klasses ->
// Klass::_next_link; InstanceKlass::_methods -> Array<Method*>. Array classes have no methods and
// are told by their negative layout helper (klass.hpp).
//
// JDK 8 does not say where a loader's classes are; there they come out of
// SystemDictionary::_dictionary, a hash table of all classes that have a name (dictionary.hpp;
// hashtable.hpp: the lowest bit of an entry's _next marks shared ones). It has a class once for
// each loader that was asked for it, and no anonymous ones.
#pragma once

#include <cstdint>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "process/memory_reader.h"
#include "runtimes/hotspot/vm_structs.h"

namespace jitscope::hotspot {

struct ClassMethods {
  uint64_t klass = 0;
  std::vector<uint64_t> methods;  // Method*
};

class ClassGraph {
 public:
  static Result<ClassGraph> open(const VmStructs& structs);
  // Errors: the head cannot be read. Anything else that is torn is counted and left out.
  Result<std::vector<ClassMethods>> read(MemoryReader& memory, Diagnostics& diagnostics) const;
  // Which of these classes still are what they were: same name, same methods.
  std::vector<bool> unchanged(MemoryReader& memory, const std::vector<ClassMethods>& classes) const;

 private:
  ClassGraph() = default;
  Status open_dictionary(const VmStructs& structs);
  // The instance classes.
  Result<std::vector<uint64_t>> klasses(MemoryReader& memory, Diagnostics& diagnostics) const;
  Result<std::vector<uint64_t>> dictionary_klasses(MemoryReader& memory,
                                                   Diagnostics& diagnostics) const;
  Result<std::vector<uint64_t>> first_klasses(MemoryReader& memory, Diagnostics& diagnostics) const;
  [[nodiscard]] bool is_instance(StructView& klass) const;
  std::vector<uint64_t> all_klasses(MemoryReader& memory, std::vector<uint64_t> chains,
                                    Diagnostics& diagnostics) const;

  uint64_t head_address_ = 0;
  FieldRef loader_next_, loader_klasses_;  // ClassLoaderData
  FieldRef next_link_, layout_helper_;     // Klass
  FieldRef methods_;                       // InstanceKlass
  // Of JVMs with one dictionary of all classes; its static pointer is 0 in the others.
  uint64_t dictionary_address_ = 0;
  FieldRef table_size_, buckets_;                // BasicHashtable
  FieldRef bucket_entry_;                        // HashtableBucket
  uint32_t bucket_bytes_ = 0;                    // sizeof(HashtableBucket)
  FieldRef dictionary_next_, dictionary_klass_;  // of an entry
  FieldRef array_length_;
  uint32_t array_data_ = 0;
};

}  // namespace jitscope::hotspot
