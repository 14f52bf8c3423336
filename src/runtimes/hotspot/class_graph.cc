// Walks class loaders, classes and method arrays; see class_graph.h.
#include "runtimes/hotspot/class_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_set>

#include "base/byte_cursor.h"
#include "base/work_limit.h"
#include "runtimes/hotspot/batch.h"

namespace jitscope::hotspot {
namespace {

// Far above real programs, low enough to end on a hostile or torn list.
constexpr size_t kMaxLoaders = 1'000'000;
constexpr size_t kMaxKlasses = 2'000'000;
constexpr size_t kMaxMethods = 2'000'000;
constexpr uint64_t kMaxMethodsOfClass = 65'535;  // JVMS 4.1, methods_count
constexpr int64_t kMaxBuckets = 1 << 20;         // 1,009 by default (PredictedLoadedClassCount)
constexpr uint64_t kSharedEntry = 1;             // hashtable.hpp: BasicHashtableEntry::is_shared

// Of fields in the structs that are read here; real ones lie below 512.
constexpr uint32_t kMaxOffset = 4096;
constexpr size_t kStructsAtOnce = 8192;

// Reads structs of one size, a bounded number at a time: visit(address, view).
template <typename Visit>
void each_struct(MemoryReader& memory, std::span<const uint64_t> addresses, uint32_t bytes,
                 Diagnostics& diagnostics, Visit&& visit) {
  for (size_t first = 0; first < addresses.size() && !WorkLimit::over(); first += kStructsAtOnce) {
    const auto some = addresses.subspan(first, std::min(kStructsAtOnce, addresses.size() - first));
    StructBatch batch(bytes);
    for (const uint64_t address : some) batch.add(address);
    batch.read(memory);
    for (const uint64_t address : some) {
      StructView view(batch.get(address));
      if (batch.get(address).empty()) {
        diagnostics.note("class unloaded while being read", fmt::format("{:#x}", address));
      } else {
        visit(address, view);
      }
    }
  }
}

// One step along every chain at a time: long ones are few, short ones many (each hidden class has a
// loader of its own), so both get cheap. step(address, view) gives the next one's address, or 0.
template <typename Step>
void walk_chains(MemoryReader& memory, std::vector<uint64_t> chains, uint32_t bytes,
                 Diagnostics& diagnostics, Step&& step) {
  std::unordered_set<uint64_t> seen;
  while (!chains.empty() && seen.size() < kMaxKlasses && !WorkLimit::over()) {
    std::erase_if(chains, [&](uint64_t address) { return !seen.insert(address).second; });
    std::vector<uint64_t> next;
    each_struct(memory, chains, bytes, diagnostics, [&](uint64_t address, StructView& view) {
      if (const uint64_t link = step(address, view); link != 0) next.push_back(link);
    });
    chains = std::move(next);
  }
  if (!chains.empty()) diagnostics.note("more classes than are read");
}

}  // namespace

Result<ClassGraph> ClassGraph::open(const VmStructs& structs) {
  ClassGraph graph;
  const auto loader_klasses = structs.member_if({"ClassLoaderData"}, {"_klasses"});
  const auto next_link = structs.member_if({"Klass"}, {"_next_link"});
  if (loader_klasses && next_link) {
    graph.loader_klasses_ = *loader_klasses;
    graph.next_link_ = *next_link;
    JITSCOPE_ASSIGN(graph.head_address_, structs.static_address("ClassLoaderDataGraph", "_head"));
    JITSCOPE_ASSIGN(graph.loader_next_, structs.member({"ClassLoaderData"}, {"_next"}));
  } else {
    JITSCOPE_TRY(graph.open_dictionary(structs));
  }
  JITSCOPE_ASSIGN(graph.layout_helper_, structs.member({"Klass"}, {"_layout_helper"}));
  JITSCOPE_ASSIGN(graph.methods_, structs.member({"InstanceKlass"}, {"_methods"}));
  // All Arrays of pointers look alike; Array<Klass*> is the one that is always described.
  JITSCOPE_ASSIGN(graph.array_length_,
                  structs.member({"Array<Klass*>", "Array<int>"}, {"_length"}));
  const VmField* data = structs.find("Array<Method*>", "_data");
  if (data == nullptr) data = structs.find("Array<Klass*>", "_data[0]");
  if (data == nullptr) data = structs.find("Array<Klass*>", "_data");
  if (data == nullptr || data->is_static || data->offset > 64 || graph.array_length_.end() > 64) {
    return fail(ErrorKind::not_possible, "this JVM does not describe Array<Method*>::_data");
  }
  graph.array_data_ = static_cast<uint32_t>(data->offset);
  for (const FieldRef& field : {graph.loader_next_, graph.loader_klasses_, graph.next_link_,
                                graph.layout_helper_, graph.methods_, graph.table_size_,
                                graph.buckets_, graph.dictionary_next_, graph.dictionary_klass_}) {
    if (field.end() > kMaxOffset) {
      return fail(ErrorKind::not_possible,
                  "this JVM's description of its classes contradicts itself");
    }
  }
  return graph;
}

bool ClassGraph::is_instance(StructView& klass) const {
  return static_cast<int32_t>(klass.get(layout_helper_)) > 0;
}

Status ClassGraph::open_dictionary(const VmStructs& structs) {
  JITSCOPE_ASSIGN(dictionary_address_, structs.static_address("SystemDictionary", "_dictionary"));
  JITSCOPE_ASSIGN(table_size_, structs.member({"BasicHashtable<mtInternal>"}, {"_table_size"}));
  JITSCOPE_ASSIGN(buckets_, structs.member({"BasicHashtable<mtInternal>"}, {"_buckets"}));
  JITSCOPE_ASSIGN(bucket_entry_, structs.member({"HashtableBucket<mtInternal>"}, {"_entry"}));
  JITSCOPE_ASSIGN(const uint64_t bucket, structs.type_size("HashtableBucket<mtInternal>"));
  JITSCOPE_ASSIGN(dictionary_next_, structs.member({"BasicHashtableEntry<mtInternal>"}, {"_next"}));
  JITSCOPE_ASSIGN(dictionary_klass_, structs.member({"IntptrHashtableEntry"}, {"_literal"}));
  if (bucket < bucket_entry_.end() || bucket > 64 || dictionary_klass_.width != 8) {
    return fail(ErrorKind::not_possible,
                "this JVM's description of its dictionary of classes "
                "contradicts itself");
  }
  bucket_bytes_ = static_cast<uint32_t>(bucket);
  return {};
}

Result<std::vector<uint64_t>> ClassGraph::dictionary_klasses(MemoryReader& memory,
                                                             Diagnostics& diagnostics) const {
  JITSCOPE_ASSIGN(const uint64_t dictionary, read_u64(memory, dictionary_address_));
  std::vector<std::byte> head(std::max(table_size_.end(), buckets_.end()));
  JITSCOPE_TRY(memory.read(dictionary, head));
  StructView table(head);
  const int64_t size = table.get_signed(table_size_);
  const uint64_t buckets = table.get(buckets_);
  if (!table.ok() || size <= 0 || size > kMaxBuckets || buckets == 0) {
    return fail(ErrorKind::damaged, fmt::format("the dictionary of classes has {} buckets", size),
                fmt::format("{:#x}", dictionary), "the JVM may still be starting; try again");
  }
  std::vector<std::byte> bytes(static_cast<size_t>(size) * bucket_bytes_);
  JITSCOPE_TRY(memory.read(buckets, bytes));
  std::vector<uint64_t> chains;
  for (size_t at = 0; at < bytes.size(); at += bucket_bytes_) {
    const uint64_t entry = StructView(std::span(bytes).subspan(at)).get(bucket_entry_);
    if (entry != 0) chains.push_back(entry & ~kSharedEntry);
  }
  std::vector<uint64_t> klasses;
  const uint32_t bytes_of_entry = std::max(dictionary_next_.end(), dictionary_klass_.end());
  walk_chains(memory, std::move(chains), bytes_of_entry, diagnostics,
              [&](uint64_t, StructView& entry) {
                klasses.push_back(entry.get(dictionary_klass_));
                return entry.get(dictionary_next_) & ~kSharedEntry;
              });
  std::ranges::sort(klasses);
  klasses.erase(std::unique(klasses.begin(), klasses.end()), klasses.end());
  // Instances alone, as below.
  std::vector<uint64_t> instances;
  each_struct(memory, klasses, layout_helper_.end(), diagnostics,
              [&](uint64_t klass, StructView& view) {
                if (is_instance(view)) instances.push_back(klass);
              });
  return instances;
}

Result<std::vector<uint64_t>> ClassGraph::klasses(MemoryReader& memory,
                                                  Diagnostics& diagnostics) const {
  if (dictionary_address_ != 0) return dictionary_klasses(memory, diagnostics);
  JITSCOPE_ASSIGN(std::vector<uint64_t> chains, first_klasses(memory, diagnostics));
  return all_klasses(memory, std::move(chains), diagnostics);
}

Result<std::vector<uint64_t>> ClassGraph::first_klasses(MemoryReader& memory,
                                                        Diagnostics& diagnostics) const {
  std::vector<uint64_t> result;
  JITSCOPE_ASSIGN(uint64_t loader, read_u64(memory, head_address_));
  std::unordered_set<uint64_t> seen;
  std::vector<std::byte> bytes(std::max(loader_next_.end(), loader_klasses_.end()));
  WorkMeter work(256);
  while (loader != 0 && seen.size() < kMaxLoaders && seen.insert(loader).second && !work.over()) {
    if (!memory.read(loader, bytes)) {
      diagnostics.note("class loader unloaded while being read", fmt::format("{:#x}", loader));
      break;
    }
    StructView view(bytes);
    loader = view.get(loader_next_);
    const uint64_t klass = view.get(loader_klasses_);
    if (klass != 0) result.push_back(klass);
  }
  return result;
}

std::vector<uint64_t> ClassGraph::all_klasses(MemoryReader& memory, std::vector<uint64_t> chains,
                                              Diagnostics& diagnostics) const {
  std::vector<uint64_t> instances;
  walk_chains(memory, std::move(chains), std::max(next_link_.end(), layout_helper_.end()),
              diagnostics, [&](uint64_t klass, StructView& view) {
                if (is_instance(view)) instances.push_back(klass);
                return view.get(next_link_);
              });
  return instances;
}

Result<std::vector<ClassMethods>> ClassGraph::read(MemoryReader& memory,
                                                   Diagnostics& diagnostics) const {
  JITSCOPE_ASSIGN(const std::vector<uint64_t> klasses, this->klasses(memory, diagnostics));

  std::vector<ByteRange> ranges;
  for (const uint64_t klass : klasses) ranges.push_back({klass + methods_.offset, 8});
  std::vector<uint64_t> arrays(klasses.size());
  read_ranges(memory, ranges, [&](size_t i, std::span<const std::byte> bytes) {
    arrays[i] = ByteCursor(bytes).u64();
  });
  StructBatch heads(array_length_.end());
  for (const uint64_t array : arrays) heads.add(array);
  heads.read(memory);

  std::vector<ClassMethods> result;
  ranges.clear();
  size_t total = 0;
  for (size_t i = 0; i < klasses.size(); ++i) {
    StructView view(heads.get(arrays[i]));
    const auto length = static_cast<int64_t>(view.get_signed(array_length_));
    if (!view.ok() || length < 0 || static_cast<uint64_t>(length) > kMaxMethodsOfClass ||
        total + static_cast<uint64_t>(length) > kMaxMethods) {
      diagnostics.note("methods of a class not readable", fmt::format("Klass {:#x}", klasses[i]));
      continue;
    }
    if (length == 0) continue;
    total += static_cast<uint64_t>(length);
    ranges.push_back({arrays[i] + array_data_, static_cast<uint32_t>(length) * 8});
    result.push_back({klasses[i], {}});
  }
  read_ranges(memory, ranges, [&](size_t i, std::span<const std::byte> bytes) {
    ByteCursor cursor(bytes);
    result[i].methods.reserve(bytes.size() / 8);
    while (!cursor.at_end()) result[i].methods.push_back(cursor.u64());
  });
  std::erase_if(result, [&](const ClassMethods& entry) {
    if (!entry.methods.empty()) return false;
    diagnostics.note("methods of a class not readable", fmt::format("Klass {:#x}", entry.klass));
    return true;
  });
  return result;
}

std::vector<bool> ClassGraph::unchanged(MemoryReader& memory,
                                        const std::vector<ClassMethods>& classes) const {
  std::vector<bool> result(classes.size());
  std::vector<ByteRange> ranges;
  for (const ClassMethods& entry : classes) ranges.push_back({entry.klass + methods_.offset, 8});
  std::vector<uint64_t> arrays(classes.size());
  read_ranges(memory, ranges, [&](size_t i, std::span<const std::byte> bytes) {
    arrays[i] = ByteCursor(bytes).u64();
  });
  ranges.clear();
  for (size_t i = 0; i < classes.size(); ++i) {
    ranges.push_back(
        {arrays[i] + array_data_, static_cast<uint32_t>(classes[i].methods.size()) * 8});
  }
  read_ranges(memory, ranges, [&](size_t i, std::span<const std::byte> bytes) {
    ByteCursor cursor(bytes);
    result[i] = std::ranges::all_of(classes[i].methods,
                                    [&](uint64_t method) { return cursor.u64() == method; });
  });
  return result;
}

}  // namespace jitscope::hotspot
