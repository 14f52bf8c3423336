// The tables in which a FakeJvm describes itself, as JDK 17 (pointers) and JDK 25 (offsets) do.
// Part of fake_jvm.h.
#pragma once

#include <algorithm>

#include "fake_jvm.h"

namespace jitscope::hotspot::test {

inline void FakeJvm::build_statics() {
  const bool p = style_ == Style::pointers;
  // CodeCache::_heaps -> GrowableArray -> one CodeHeap.
  heaps_static_ = metaspace(8);
  graph_static_ = metaspace(8);
  release_static_ = metaspace(8);
  const uint64_t array = metaspace(24), pointers = metaspace(8), heap = metaspace(400);
  put(heaps_static_, array);
  put(array, int32_t{1});
  put(array + 8, pointers);
  put(pointers, heap);
  const uint64_t memory = heap + (p ? 8 : 0), map = heap + (p ? 120 : 112);
  put(memory + 16, kHeap);
  put(memory + 24, kHeap + kSegments * kSegment);
  put(map + 16, kSegmentMap);
  put(map + 24, kSegmentMap + kSegments);
  put(heap + (p ? 256 : 248), int32_t{7});
  put(release_static_, text(p ? "17.0.99+1-fake" : "25.0.99+1-fake"));
  // One class loader.
  loader_ = metaspace(160);
  put(graph_static_, loader_);
}

inline void FakeJvm::add_region(uint64_t address, size_t bytes) {
  regions_[address] = std::vector<std::byte>(bytes);
}

inline void FakeJvm::use_dictionary() {
  dictionary_static_ = metaspace(8);
  dictionary_ = metaspace(56);
  buckets_ = metaspace(8 * kBuckets);
  put(dictionary_static_, dictionary_);
  put(dictionary_, static_cast<int32_t>(kBuckets));
  put(dictionary_ + 8, buckets_);
  build_tables({});
}

inline void FakeJvm::use_jdk_version(uint8_t major, const std::string& description) {
  jdk_static_ = metaspace(8);
  description_static_ = metaspace(8);
  put(jdk_static_, major);
  put(description_static_, text(description));
  build_tables({});
}

inline std::vector<uint64_t> FakeJvm::use_flags(
    const std::vector<std::pair<std::string, bool>>& flags) {
  flags_static_ = metaspace(8);
  flag_count_static_ = metaspace(8);
  const uint64_t table = metaspace(24 * flags.size());
  put(flags_static_, table);
  put(flag_count_static_, uint64_t{flags.size()});
  std::vector<uint64_t> values;
  for (size_t i = 0; i < flags.size(); ++i) {
    values.push_back(metaspace(1));
    put(values.back(), flags[i].second);
    put(table + 24 * i, values.back());
    put(table + 24 * i + 8, text(flags[i].first));
  }
  build_tables({});
  return values;
}

inline uint64_t FakeJvm::add_to_dictionary(uint64_t klass, uint64_t bucket, bool shared) {
  const uint64_t entry = metaspace(40), place = buckets_ + 8 * bucket;
  uint64_t first = 0;
  std::memcpy(&first, at(place, 8), 8);
  put(entry + 8, first | (shared ? 1U : 0U));
  put(entry + 16, klass);
  put(place, entry);
  return entry;
}

inline void FakeJvm::build_tables(const std::vector<std::string>& without) {
  const bool p = style_ == Style::pointers;
  struct Row {
    std::string type, field, spelling;
    uint64_t offset;
    uint64_t address = 0;
  };
  std::vector<Row> rows = {
      {"Method", "_constMethod", "ConstMethod*", 8},
      {"Method", "_access_flags", "AccessFlags", p ? 40U : 44U},
      {"ConstMethod", "_constants", "ConstantPool*", 8},
      {"ConstMethod", "_name_index", "u2", p ? 34U : 36U},
      {"ConstMethod", "_signature_index", "u2", p ? 36U : 38U},
      {"ConstMethod", "_constMethod_size", "int", 24},
      {"ConstMethod", "_code_size", "u2", p ? 32U : 34U},
      {"ConstMethod", p ? "_flags" : "_flags._flags", p ? "u2" : "u4", 28},
      {"ConstantPool", "_pool_holder", "InstanceKlass*", 24},
      {"ConstantPool", "_length", "int", 60},
      {"ConstantPool", "_source_file_name_index", "u2", 54},
      {"Klass", "_name", "Symbol*", 24},
      {"Klass", "_layout_helper", "jint", 8},
      {"Klass", "_next_link", "Klass*", 144},
      {"InstanceKlass", "_methods", "Array<Method*>*", p ? 408U : 400U},
      {"Array<Klass*>", "_length", "int", 0},
      {"Array<Method*>", "_data", "", 8},
      {"ClassLoaderData", "_next", "ClassLoaderData*", 112},
      {"ClassLoaderData", "_klasses", "Klass*", 56},
      {"ClassLoaderDataGraph", "_head", "ClassLoaderData*", 0, graph_static_},
      {"Symbol", "_length", "u2", 4},
      {"Symbol", "_body[0]", "u1", 6},
      {"CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", 0, heaps_static_},
      {"GrowableArrayBase", "_len", "int", 0},
      {"GrowableArray<int>", "_data", "int*", 8},
      {"VirtualSpace", "_low", "char*", 16},
      {"VirtualSpace", "_high", "char*", 24},
      {"CodeHeap", "_memory", "VirtualSpace", p ? 8U : 0U},
      {"CodeHeap", "_segmap", "VirtualSpace", p ? 120U : 112U},
      {"CodeHeap", "_log2_segment_size", "int", p ? 256U : 248U},
      {"HeapBlock::Header", "_length", p ? "size_t" : "uint32_t", 0},
      {"HeapBlock::Header", "_used", "bool", p ? 8U : 4U},
      {"CodeBlob", "_name", "const char*", p ? 96U : 8U},
      {"CodeBlob", "_size", "int", p ? 12U : 24U},
      {"CodeBlob", "_frame_size", "int", p ? 28U : 44U},
      {"CodeBlob", "_data_offset", "int", p ? 24U : 40U},
      {"CodeBlob", "_oop_maps", old_oop_maps_ ? "OopMapSet*" : "ImmutableOopMapSet*", p ? 80U : 0U},
      {old_oop_maps_ ? "OopMapSet" : "ImmutableOopMapSet", old_oop_maps_ ? "_om_count" : "_count",
       "int", 0},
      {"PcDesc", "_pc_offset", "int", 0},
      {"PcDesc", "_scope_decode_offset", "int", 4},
      {"nmethod", "_scopes_pcs_offset", "int", p ? 268U : 196U},
      {"nmethod", "_entry_bci", "int", p ? 192U : 156U},
      {"nmethod", "_state", "volatile signed char", p ? 315U : 219U},
      {"nmethod", "_compile_id", "int", p ? 304U : 212U},
      {"nmethod", "_comp_level", p ? "int" : "CompLevel", p ? 308U : 216U},
      {"nmethod", "_osr_entry_point", "address", p ? 232U : 144U},
      {"Abstract_VM_Version", "_s_vm_release", "const char*", 0, release_static_},
  };
  if (p) {
    rows.push_back({"CodeBlob", "_code_begin", "address", 32});
    rows.push_back({"CodeBlob", "_code_end", "address", 40});
    rows.push_back({"CompiledMethod", "_method", "Method*", 112});
    rows.push_back({"nmethod", "_verified_entry_point", "address", 224});
    rows.push_back({"nmethod", "_stack_traversal_mark", "long", 328});
    rows.push_back({"CompiledMethod", "_scopes_data_begin", "address", 120});
    rows.push_back({"nmethod", "_metadata_offset", "int", 260});
    rows.push_back({"nmethod", "_dependencies_offset", "int", 272});
  } else {
    rows.push_back({"CodeBlob", "_code_offset", "int", 36});
    rows.push_back({"CodeBlob", "_relocation_size", "int", 28});
    rows.push_back({"CodeBlob", "_mutable_data", "address", 16});
    rows.push_back({"CodeBlob", "_mutable_data_size", "int", 48});
    rows.push_back({"nmethod", "_immutable_data", "address", 96});
    rows.push_back({"nmethod", "_immutable_data_size", "int", 160});
    rows.push_back({"nmethod", "_scopes_data_offset", "int", 200});
    rows.push_back({"CodeBlob", "_kind", "CodeBlobKind", 56});
    rows.push_back({"nmethod", "_method", "Method*", 80});
    rows.push_back({"nmethod", "_verified_entry_offset", "u2", 154});
  }
  if (jdk_static_ != 0) {
    rows.push_back({"JDK_Version", "_current", "JDK_Version", 0, jdk_static_});
    rows.push_back({"JDK_Version", "_major", "unsigned char", 0});
    rows.push_back({"Abstract_VM_Version", "_s_internal_vm_info_string", "const char*", 0,
                    description_static_});
  }
  if (flags_static_ != 0) {
    rows.push_back({"nmethod", "_immutable_data_ref_count_offset", "int", 204});
    rows.push_back({"JVMFlag", "_name", "const char*", 8});
    rows.push_back({"JVMFlag", "_addr", "", 0});
    rows.push_back({"JVMFlag", "flags", "JVMFlag*", 0, flags_static_});
    rows.push_back({"JVMFlag", "numFlags", "size_t", 0, flag_count_static_});
  }
  if (dictionary_static_ != 0) {
    rows.push_back({"SystemDictionary", "_dictionary", "Dictionary*", 0, dictionary_static_});
    rows.push_back({"BasicHashtable<mtInternal>", "_table_size", "int", 0});
    rows.push_back({"BasicHashtable<mtInternal>", "_buckets", "HashtableBucket<mtInternal>*", 8});
    rows.push_back(
        {"HashtableBucket<mtInternal>", "_entry", "BasicHashtableEntry<mtInternal>*", 0});
    rows.push_back(
        {"BasicHashtableEntry<mtInternal>", "_next", "BasicHashtableEntry<mtInternal>*", 8});
    rows.push_back({"IntptrHashtableEntry", "_literal", "intptr_t", 16});
  }
  std::vector<std::pair<std::string, uint64_t>> types = {
      {"u1", 1},
      {"u2", 2},
      {"u4", 4},
      {"PcDesc", 16},
      {"ConstMethod", const_method_bytes()},
      {"size_t", 8},
      {"uint32_t", 4},
      {"bool", 1},
      {"AccessFlags", p ? 4U : 2U},
      {"CompLevel", 1},
      {"CodeBlobKind", 1},
      {"ConstantPool", 72},
      {"HeapBlock", block_bytes()},
      {"CodeBlob", p ? 104U : 64U},
      {"nmethod", p ? 352U : 224U},
      {p ? "CompiledMethod" : "UpcallStub", p ? 192U : 80U}};
  if (dictionary_static_ != 0) {
    types.emplace_back("intptr_t", 8);
    types.emplace_back("HashtableBucket<mtInternal>", 8);
  }
  if (flags_static_ != 0) types.emplace_back("JVMFlag", 24);
  if (jdk_static_ != 0) types.emplace_back("unsigned char", 1);
  const auto skipped = [&](const std::string& name) {
    if (dictionary_static_ != 0 &&
        (name == "ClassLoaderData::_klasses" || name == "Klass::_next_link")) {
      return true;
    }
    return std::find(without.begin(), without.end(), name) != without.end();
  };

  // Entry layouts: as libjvm has them on 64-bit machines.
  const std::map<std::string, uint64_t> layout = {
      {"StructEntryTypeNameOffset", 0},    {"StructEntryFieldNameOffset", 8},
      {"StructEntryTypeStringOffset", 16}, {"StructEntryIsStaticOffset", 24},
      {"StructEntryOffsetOffset", 32},     {"StructEntryAddressOffset", 40},
      {"StructEntryArrayStride", 48},      {"TypeEntryTypeNameOffset", 0},
      {"TypeEntrySizeOffset", 32},         {"TypeEntryIsUnsignedOffset", 24},
      {"TypeEntryArrayStride", 40},        {"IntConstantEntryNameOffset", 0},
      {"IntConstantEntryValueOffset", 8},  {"IntConstantEntryArrayStride", 16},
      {"LongConstantEntryNameOffset", 0},  {"LongConstantEntryValueOffset", 8},
      {"LongConstantEntryArrayStride", 16}};
  const auto variable = [&](const std::string& name, uint64_t value) {
    put(*fuzz_symbol_lookup("gHotSpotVM" + name), value);
  };
  for (const auto& [name, value] : layout) variable(name, value);

  uint64_t next = kTables;
  variable("Structs", next);
  for (const Row& row : rows) {
    offsets_[row.type + "::" + row.field] = row.offset;
    if (skipped(row.type + "::" + row.field)) continue;
    put(next, text(row.type));
    put(next + 8, text(row.field));
    put(next + 16, row.spelling.empty() ? uint64_t{0} : text(row.spelling));
    put(next + 24, int32_t{row.address != 0});
    const bool far = row.type + "::" + row.field == far_field;
    put(next + 32, far ? uint64_t{60'000} : row.offset);
    put(next + 40, row.address);
    next += 48;
  }
  put(next, uint64_t{0});
  next += 48;
  variable("Types", next);
  for (const auto& [name, size] : types) {
    if (skipped(name)) continue;
    put(next, text(name));
    put(next + 24, int32_t{1});
    put(next + 32, size);
    next += 40;
  }
  put(next, uint64_t{0});
  next += 40;
  variable("IntConstants", next);
  const std::vector<std::pair<std::string, int32_t>> constants = {
      {"InvocationEntryBci", -1},
      {p ? "CompLevel_simple" : "CodeBlobKind::Nmethod", 1},
      {p ? "ConstMethod::_has_linenumber_table" : "ConstMethodFlags::_misc_has_linenumber_table",
       1}};
  for (const auto& [name, value] : constants) {
    put(next, text(name));
    put(next + 8, value);
    next += 16;
  }
  put(next, uint64_t{0});
  next += 16;
  variable("LongConstants", next);
  put(next, text("markWord::age_mask"));
  put(next + 8, uint64_t{0x1234567890});
  put(next + 16, uint64_t{0});
}

}  // namespace jitscope::hotspot::test
