// FakeJvm: memory that looks like a HotSpot to the readers, in one of the two known styles (offsets
// as in JDK 17 or as in JDK 25), with as much in it as a test asks for. Tests may overwrite any
// byte of it and may act between two reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/hotspot_check.h"
#include "process/memory_reader.h"
#include "runtimes/hotspot/vm_structs.h"

namespace jitscope::hotspot::test {

class FakeJvm : public MemoryReader {
 public:
  enum class Style : uint8_t { pointers, offsets };
  struct MethodSpec {
    std::string name;
    std::string descriptor;
    uint16_t access = 0x0001;
  };
  struct NmethodSpec {
    uint64_t method = 0;
    uint32_t compile_id = 1;
    uint8_t level = 4;
    int8_t state = 0;
    int32_t entry_bci = -1;
    std::vector<uint8_t> entry_bytes = {0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55};
    bool native_name = false;
  };

  static constexpr uint64_t kTables = 0x7f0000000000;
  static constexpr uint64_t kMetaspace = 0x7f1000000000;
  static constexpr uint64_t kHeap = 0x7f2000000000;
  static constexpr uint64_t kSegmentMap = 0x7f3000000000;
  static constexpr uint64_t kSegment = 128;
  static constexpr uint64_t kSegments = 2048;
  static constexpr uint64_t kBlobSegments = 8;

  explicit FakeJvm(Style style) : style_(style) {
    regions_[kFuzzSymbols] = std::vector<std::byte>(4096);
    regions_[kTables] = std::vector<std::byte>(128 << 10);
    regions_[kMetaspace] = std::vector<std::byte>(1 << 20);
    regions_[kHeap] = std::vector<std::byte>(kSegments * kSegment);
    regions_[kSegmentMap] = std::vector<std::byte>(kSegments, std::byte{0xff});
    build_statics();
    build_tables({});
  }

  // Writes the tables anew, without the given fields ("nmethod::_state") and types.
  void build_tables(const std::vector<std::string>& without);

  std::vector<uint64_t> add_class(const std::string& name, const std::vector<MethodSpec>& methods);
  // An array class in the same list.
  void add_array_class();
  uint64_t add_nmethod(const NmethodSpec& spec);
  uint64_t add_stub(const std::string& name);
  // The HeapBlock header in front of a blob.
  [[nodiscard]] uint64_t block_of(uint64_t blob) const { return blob - block_bytes(); }

  [[nodiscard]] SymbolLookup symbols() const { return fuzz_symbol_lookup; }
  [[nodiscard]] std::string serialize() const;

  Status read(uint64_t address, std::span<std::byte> out) override {
    ++reads;
    if (before_read) before_read(address);
    if (gone) return fail(ErrorKind::target_gone, "the process has exited");
    const std::byte* from = at(address, out.size());
    if (from == nullptr) return fail(ErrorKind::not_possible, "cannot read memory");
    std::memcpy(out.data(), from, out.size());
    return {};
  }

  template <typename T>
  void put(uint64_t address, T value) {
    std::byte* to = at(address, sizeof(T));
    if (to == nullptr) std::abort();  // the test itself is wrong
    std::memcpy(to, &value, sizeof(T));
  }
  void put_bytes(uint64_t address, std::string_view bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) put(address + i, bytes[i]);
  }

  // Offsets of fields that tests damage.
  [[nodiscard]] uint64_t field(std::string_view name) const {
    return offsets_.at(std::string(name));
  }
  [[nodiscard]] uint64_t symbol(std::string_view text);
  [[nodiscard]] uint64_t last_klass() const { return last_klass_; }
  [[nodiscard]] uint64_t code_of(uint64_t blob) const { return blob + kCodeOffset; }
  uint64_t heaps_static() const { return heaps_static_; }

  size_t reads = 0;
  bool gone = false;
  std::function<void(uint64_t)> before_read;

  static constexpr uint64_t kCodeOffset = 0x180;
  static constexpr uint64_t kCodeBytes = 0x200;
  static constexpr uint64_t kEntryOffset = 0x20;

 private:
  [[nodiscard]] uint64_t block_bytes() const { return style_ == Style::pointers ? 16 : 8; }
  std::byte* at(uint64_t address, size_t size) {
    auto next = regions_.upper_bound(address);
    if (next == regions_.begin()) return nullptr;
    auto& [base, bytes] = *--next;
    const uint64_t offset = address - base;
    if (offset > bytes.size() || size > bytes.size() - offset) return nullptr;
    return bytes.data() + offset;
  }
  uint64_t allocate(uint64_t& next, uint64_t size) {
    const uint64_t result = next;
    next += (size + 7) & ~7ULL;
    return result;
  }
  uint64_t metaspace(uint64_t size) { return allocate(metaspace_next_, size); }
  uint64_t text(std::string_view value) {
    const uint64_t address = allocate(tables_next_, value.size() + 1);
    put_bytes(address, value);
    put(address + value.size(), char{0});
    return address;
  }
  uint64_t new_blob(std::string_view name, uint8_t kind);
  void build_statics();

  Style style_;
  std::map<uint64_t, std::vector<std::byte>> regions_;
  std::map<std::string, uint64_t> offsets_;
  std::map<std::string, uint64_t, std::less<>> symbols_;
  uint64_t tables_next_ = kTables + (96 << 10);  // strings and statics; the tables come first
  uint64_t metaspace_next_ = kMetaspace;
  uint64_t segment_next_ = 0;
  uint64_t heaps_static_ = 0, graph_static_ = 0, release_static_ = 0;
  uint64_t loader_ = 0, last_klass_ = 0;
};

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
      {"ConstantPool", "_pool_holder", "InstanceKlass*", 24},
      {"ConstantPool", "_length", "int", 60},
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
  } else {
    rows.push_back({"CodeBlob", "_code_offset", "int", 36});
    rows.push_back({"CodeBlob", "_data_offset", "int", 40});
    rows.push_back({"CodeBlob", "_kind", "CodeBlobKind", 56});
    rows.push_back({"nmethod", "_method", "Method*", 80});
    rows.push_back({"nmethod", "_verified_entry_offset", "u2", 154});
  }
  const std::vector<std::pair<std::string, uint64_t>> types = {
      {"u1", 1},
      {"u2", 2},
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
  const auto skipped = [&](const std::string& name) {
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
    put(next + 32, row.offset);
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
      {"InvocationEntryBci", -1}, {p ? "CompLevel_simple" : "CodeBlobKind::Nmethod", 1}};
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

inline uint64_t FakeJvm::symbol(std::string_view value) {
  if (const auto found = symbols_.find(value); found != symbols_.end()) return found->second;
  const uint64_t address = metaspace(6 + value.size());
  put(address + 4, static_cast<uint16_t>(value.size()));
  put_bytes(address + 6, value);
  symbols_.emplace(value, address);
  return address;
}

inline std::vector<uint64_t> FakeJvm::add_class(const std::string& name,
                                                const std::vector<MethodSpec>& methods) {
  const uint64_t klass = metaspace(472);
  put(klass + field("Klass::_layout_helper"), int32_t{16});
  put(klass + field("Klass::_name"), symbol(name));
  uint64_t first = 0;
  std::memcpy(&first, at(loader_ + field("ClassLoaderData::_klasses"), 8), 8);
  put(klass + field("Klass::_next_link"), first);
  put(loader_ + field("ClassLoaderData::_klasses"), klass);
  last_klass_ = klass;

  const uint64_t pool = metaspace(72 + 8 * (2 * methods.size() + 1));
  put(pool + field("ConstantPool::_pool_holder"), klass);
  put(pool + field("ConstantPool::_length"), static_cast<int32_t>(2 * methods.size() + 1));
  const uint64_t array = metaspace(8 + 8 * methods.size());
  put(array, static_cast<int32_t>(methods.size()));
  put(klass + field("InstanceKlass::_methods"), array);
  std::vector<uint64_t> result;
  for (size_t i = 0; i < methods.size(); ++i) {
    const uint64_t method = metaspace(88), const_method = metaspace(56);
    put(method + field("Method::_constMethod"), const_method);
    put(method + field("Method::_access_flags"), methods[i].access);
    put(const_method + field("ConstMethod::_constants"), pool);
    put(const_method + field("ConstMethod::_name_index"), static_cast<uint16_t>(2 * i + 1));
    put(const_method + field("ConstMethod::_signature_index"), static_cast<uint16_t>(2 * i + 2));
    put(pool + 72 + 8 * (2 * i + 1), symbol(methods[i].name));
    put(pool + 72 + 8 * (2 * i + 2), symbol(methods[i].descriptor));
    put(array + 8 + 8 * i, method);
    result.push_back(method);
  }
  return result;
}

inline void FakeJvm::add_array_class() {
  const uint64_t klass = metaspace(240);
  put(klass + field("Klass::_layout_helper"), int32_t{-2145845248});
  put(klass + field("Klass::_name"), symbol("[I"));
  uint64_t first = 0;
  std::memcpy(&first, at(loader_ + field("ClassLoaderData::_klasses"), 8), 8);
  put(klass + field("Klass::_next_link"), first);
  put(loader_ + field("ClassLoaderData::_klasses"), klass);
}

inline uint64_t FakeJvm::new_blob(std::string_view name, uint8_t kind) {
  const bool p = style_ == Style::pointers;
  const uint64_t block = kHeap + segment_next_ * kSegment, blob = block + block_bytes();
  for (uint64_t i = 0; i < kBlobSegments; ++i) {
    put(kSegmentMap + segment_next_ + i, static_cast<uint8_t>(i));
  }
  segment_next_ += kBlobSegments;
  if (p) {
    put(block, uint64_t{kBlobSegments});
  } else {
    put(block, uint32_t{kBlobSegments});
    put(blob + field("CodeBlob::_kind"), kind);
  }
  put(block + field("HeapBlock::Header::_used"), uint8_t{1});
  put(blob + field("CodeBlob::_name"), text(name));
  put(blob + field("CodeBlob::_size"), static_cast<int32_t>(kBlobSegments * kSegment - 64));
  put(blob + field("CodeBlob::_frame_size"), int32_t{6});
  if (p) {
    put(blob + field("CodeBlob::_code_begin"), blob + kCodeOffset);
    put(blob + field("CodeBlob::_code_end"), blob + kCodeOffset + kCodeBytes);
  } else {
    put(blob + field("CodeBlob::_code_offset"), static_cast<int32_t>(kCodeOffset));
    put(blob + field("CodeBlob::_data_offset"), static_cast<int32_t>(kCodeOffset + kCodeBytes));
  }
  return blob;
}

inline uint64_t FakeJvm::add_stub(const std::string& name) {
  return new_blob(name, 6);
}

inline uint64_t FakeJvm::add_nmethod(const NmethodSpec& spec) {
  const bool p = style_ == Style::pointers;
  const uint64_t blob = new_blob(spec.native_name ? "native nmethod" : "nmethod", 1);
  put(blob + field(p ? "CompiledMethod::_method" : "nmethod::_method"), spec.method);
  put(blob + field("nmethod::_entry_bci"), spec.entry_bci);
  put(blob + field("nmethod::_state"), spec.state);
  put(blob + field("nmethod::_compile_id"), spec.compile_id);
  if (p) {
    put(blob + field("nmethod::_comp_level"), int32_t{spec.level});
    put(blob + field("nmethod::_verified_entry_point"), code_of(blob) + kEntryOffset);
  } else {
    put(blob + field("nmethod::_comp_level"), spec.level);
    put(blob + field("nmethod::_verified_entry_offset"), static_cast<uint16_t>(kEntryOffset));
  }
  if (spec.entry_bci >= 0) put(blob + field("nmethod::_osr_entry_point"), code_of(blob) + 0x40);
  for (size_t i = 0; i < spec.entry_bytes.size(); ++i) {
    put(code_of(blob) + kEntryOffset + i, spec.entry_bytes[i]);
  }
  return blob;
}

// As a fuzzer input: the regions without their zero tails and gaps.
inline std::string FakeJvm::serialize() const {
  std::string result = "M";
  const auto number = [&](uint64_t value, size_t width) {
    for (size_t i = 0; i < width; ++i) result += static_cast<char>(value >> (8 * i));
  };
  constexpr size_t kPiece = 64;
  for (const auto& [base, bytes] : regions_) {
    size_t start = 0;
    while (start < bytes.size()) {
      // A run of pieces that hold something, then the zeros behind it.
      size_t end = start, length = start;
      const auto empty = [&](size_t at) {
        const size_t stop = std::min(at + kPiece, bytes.size());
        return std::all_of(bytes.begin() + at, bytes.begin() + stop,
                           [](std::byte b) { return b == std::byte{0}; });
      };
      while (end < bytes.size() && !empty(end)) end += kPiece;
      length = end = std::min(end, bytes.size());
      while (length < bytes.size() && empty(length)) length += kPiece;
      length = std::min(length, bytes.size());
      number(base + start, 8);
      number(length - start, 4);
      number(end - start, 4);
      result.append(reinterpret_cast<const char*>(bytes.data()) + start, end - start);
      start = length;
    }
  }
  return result;
}

}  // namespace jitscope::hotspot::test
