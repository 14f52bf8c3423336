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
#include "scope_stream.h"

namespace jitscope::hotspot::test {

class FakeJvm : public MemoryReader {
 public:
  enum class Style : uint8_t { pointers, offsets };
  struct MethodSpec {
    std::string name;
    std::string descriptor;
    uint16_t access = 0x0001;
    std::vector<std::pair<int, int>> lines = {};  // {bci, line}; none: no table
  };
  // What the compiler knew; the sentinels are added.
  struct DebugSpec {
    std::vector<std::pair<int32_t, int32_t>> pcs;  // {offset in the code, offset of the scope}
    std::string scopes;
    std::vector<uint64_t> metadata;
    int32_t oop_maps = -1;  // how many there are; -1: as many as PcDescs
  };
  struct NmethodSpec {
    uint64_t method = 0;
    uint32_t compile_id = 1;
    uint8_t level = 4;
    int8_t state = 0;
    int32_t entry_bci = -1;
    std::vector<uint8_t> entry_bytes = {0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55};
    bool native_name = false;
    DebugSpec debug = {};
  };

  static constexpr uint64_t kTables = 0x7f0000000000;
  static constexpr uint64_t kMetaspace = 0x7f1000000000;
  static constexpr uint64_t kHeap = 0x7f2000000000;
  static constexpr uint64_t kSegmentMap = 0x7f3000000000;
  static constexpr uint64_t kSegment = 128;
  static constexpr uint64_t kSegments = 2048;
  static constexpr uint64_t kBlobSegments = 8;
  static constexpr uint64_t kDebugSegments = 16;  // of nmethods with debug information
  static constexpr uint16_t kBytecodes = 40;
  static constexpr uint64_t kBuckets = 4;

  // `form` is how its numbers are compressed: by default as the JVMs of the style do.
  explicit FakeJvm(Style style)
      : FakeJvm(style, style == Style::pointers ? Unsigned5::plain : Unsigned5::no_zero) {}
  FakeJvm(Style style, Unsigned5 form) : style_(style), form_(form) {
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

  std::vector<uint64_t> add_class(const std::string& name, const std::vector<MethodSpec>& methods,
                                  const std::string& file = {});
  // An array class in the same list.
  void add_array_class();
  // As JDK 8: the classes are in SystemDictionary's hash table (of kBuckets), into which the test
  // puts them; loaders do not say which are theirs.
  void use_dictionary();
  // As JDK 8: OopMapSet where the others have ImmutableOopMapSet.
  void use_oop_map_set() {
    old_oop_maps_ = true;
    build_tables({});
  }
  // As JDK 8: a JDK of that number, which HotSpot's own does not tell.
  void use_jdk_version(uint8_t major, const std::string& description);
  // Options, in a table as the JVM has it; and what tells a JVM that can move nmethods. The
  // addresses of the values.
  std::vector<uint64_t> use_flags(const std::vector<std::pair<std::string, bool>>& flags);
  [[nodiscard]] uint64_t flag_count() const { return flag_count_static_; }
  // The entry; `shared` sets the mark that lies in the pointers to the next one.
  uint64_t add_to_dictionary(uint64_t klass, uint64_t bucket, bool shared = false);
  [[nodiscard]] uint64_t dictionary() const { return dictionary_; }
  uint64_t add_nmethod(const NmethodSpec& spec);
  uint64_t add_stub(const std::string& name, int32_t frame_words = 6);
  // The HeapBlock header in front of a blob.
  [[nodiscard]] uint64_t block_of(uint64_t blob) const { return blob - block_bytes(); }

  [[nodiscard]] Unsigned5 form() const { return form_; }
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

  void add_region(uint64_t address, size_t bytes);
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
  [[nodiscard]] bool knows(std::string_view name) const {
    return offsets_.contains(std::string(name));
  }
  [[nodiscard]] uint64_t symbol(std::string_view text);
  [[nodiscard]] uint64_t last_klass() const { return last_klass_; }
  [[nodiscard]] uint64_t code_of(uint64_t blob) const { return blob + kCodeOffset; }
  uint64_t heaps_static() const { return heaps_static_; }

  // Lies. The list of a loader's classes, and that of the loaders, lead back to their beginning.
  void close_lists() {
    put(loader_ + field("ClassLoaderData::_next"), loader_);
    if (last_klass_ != 0) put(last_klass_ + field("Klass::_next_link"), last_klass_);
  }
  // Every segment of the heap begins a block, each of which is a copy of `blob`.
  void fill_heap_with(uint64_t blob);

  size_t reads = 0;
  bool gone = false;
  std::string far_field;  // "Type::field" that build_tables() describes as 60,000 bytes out
  std::function<void(uint64_t)> before_read;

  static constexpr uint64_t kCodeOffset = 0x180;
  static constexpr uint64_t kCodeBytes = 0x200;
  static constexpr uint64_t kEntryOffset = 0x20;

 private:
  [[nodiscard]] uint64_t block_bytes() const { return style_ == Style::pointers ? 16 : 8; }
  [[nodiscard]] uint64_t const_method_bytes() const { return style_ == Style::pointers ? 48 : 56; }
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
  uint64_t new_blob(std::string_view name, uint8_t kind, uint64_t segments = kBlobSegments);
  void add_debug(uint64_t blob, const DebugSpec& debug);
  void build_statics();

  Style style_;
  Unsigned5 form_;
  std::map<uint64_t, std::vector<std::byte>> regions_;
  std::map<std::string, uint64_t> offsets_;
  std::map<std::string, uint64_t, std::less<>> symbols_;
  uint64_t tables_next_ = kTables + (96 << 10);  // strings and statics; the tables come first
  uint64_t metaspace_next_ = kMetaspace;
  uint64_t segment_next_ = 0;
  uint64_t heaps_static_ = 0, graph_static_ = 0, release_static_ = 0;
  uint64_t loader_ = 0, last_klass_ = 0;
  uint64_t dictionary_static_ = 0, dictionary_ = 0, buckets_ = 0;
  bool old_oop_maps_ = false;
  uint64_t flags_static_ = 0, flag_count_static_ = 0;
  uint64_t jdk_static_ = 0, description_static_ = 0;
};

inline uint64_t FakeJvm::symbol(std::string_view value) {
  if (const auto found = symbols_.find(value); found != symbols_.end()) return found->second;
  const uint64_t address = metaspace(6 + value.size());
  put(address + 4, static_cast<uint16_t>(value.size()));
  put_bytes(address + 6, value);
  symbols_.emplace(value, address);
  return address;
}

inline std::vector<uint64_t> FakeJvm::add_class(const std::string& name,
                                                const std::vector<MethodSpec>& methods,
                                                const std::string& file) {
  const uint64_t klass = metaspace(472);
  put(klass + field("Klass::_layout_helper"), int32_t{16});
  put(klass + field("Klass::_name"), symbol(name));
  uint64_t first = 0;
  std::memcpy(&first, at(loader_ + field("ClassLoaderData::_klasses"), 8), 8);
  put(klass + field("Klass::_next_link"), first);
  put(loader_ + field("ClassLoaderData::_klasses"), klass);
  last_klass_ = klass;

  const size_t slots = 2 * methods.size() + 1 + (file.empty() ? 0 : 1);
  const uint64_t pool = metaspace(72 + 8 * slots);
  put(pool + field("ConstantPool::_pool_holder"), klass);
  put(pool + field("ConstantPool::_length"), static_cast<int32_t>(slots));
  if (!file.empty()) {
    put(pool + field("ConstantPool::_source_file_name_index"), static_cast<uint16_t>(slots - 1));
    put(pool + 72 + 8 * (slots - 1), symbol(file));
  }
  const uint64_t array = metaspace(8 + 8 * methods.size());
  put(array, static_cast<int32_t>(methods.size()));
  put(klass + field("InstanceKlass::_methods"), array);
  std::vector<uint64_t> result;
  for (size_t i = 0; i < methods.size(); ++i) {
    const std::string table =
        methods[i].lines.empty() ? std::string() : line_table(methods[i].lines, form_);
    const uint64_t tables = const_method_bytes() + kBytecodes, size = tables + table.size() + 8;
    const uint64_t method = metaspace(88), const_method = metaspace(size);
    put(const_method + field("ConstMethod::_constMethod_size"), static_cast<int32_t>(size / 8));
    put(const_method + field("ConstMethod::_code_size"), kBytecodes);
    if (!table.empty()) {
      const char* flags = style_ == Style::pointers ? "_flags" : "_flags._flags";
      put(const_method + field(std::string("ConstMethod::") + flags), uint16_t{1});
      put_bytes(const_method + tables, table);
    }
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

inline uint64_t FakeJvm::new_blob(std::string_view name, uint8_t kind, uint64_t segments) {
  const bool p = style_ == Style::pointers;
  const uint64_t block = kHeap + segment_next_ * kSegment, blob = block + block_bytes();
  for (uint64_t i = 0; i < segments; ++i) {
    put(kSegmentMap + segment_next_ + i, static_cast<uint8_t>(i));
  }
  segment_next_ += segments;
  if (p) {
    put(block, segments);
  } else {
    put(block, static_cast<uint32_t>(segments));
    put(blob + field("CodeBlob::_kind"), kind);
  }
  put(block + field("HeapBlock::Header::_used"), uint8_t{1});
  put(blob + field("CodeBlob::_name"), text(name));
  put(blob + field("CodeBlob::_size"), static_cast<int32_t>(segments * kSegment - 64));
  put(blob + field("CodeBlob::_frame_size"), int32_t{6});
  if (p) {
    put(blob + field("CodeBlob::_code_begin"), blob + kCodeOffset);
    put(blob + field("CodeBlob::_code_end"), blob + kCodeOffset + kCodeBytes);
  } else {
    put(blob + field("CodeBlob::_code_offset"), static_cast<int32_t>(kCodeOffset));
  }
  put(blob + field("CodeBlob::_data_offset"), static_cast<int32_t>(kCodeOffset + kCodeBytes));
  return blob;
}

inline void FakeJvm::fill_heap_with(uint64_t blob) {
  std::vector<std::byte> one(kBlobSegments * kSegment);
  std::memcpy(one.data(), at(block_of(blob), one.size()), one.size());
  for (uint64_t first = 0; first + kBlobSegments <= kSegments; first += kBlobSegments) {
    const uint64_t block = kHeap + first * kSegment;
    std::memcpy(at(block, one.size()), one.data(), one.size());
    for (uint64_t i = 0; i < kBlobSegments; ++i) {
      put(kSegmentMap + first + i, static_cast<uint8_t>(i));
    }
    if (style_ == Style::pointers) {
      const uint64_t moved = block + block_bytes();
      put(moved + field("CodeBlob::_code_begin"), moved + kCodeOffset);
      put(moved + field("CodeBlob::_code_end"), moved + kCodeOffset + kCodeBytes);
      put(moved + field("nmethod::_verified_entry_point"), moved + kCodeOffset + kEntryOffset);
    }
  }
}

inline uint64_t FakeJvm::add_stub(const std::string& name, int32_t frame_words) {
  const uint64_t blob = new_blob(name, 6);
  put(blob + field("CodeBlob::_frame_size"), frame_words);
  return blob;
}

// PcDescs, scopes and metadata: behind the code, or each in a place of its own.
inline void FakeJvm::add_debug(uint64_t blob, const DebugSpec& debug) {
  const bool p = style_ == Style::pointers;
  const uint64_t sentinels = debug.pcs.empty() ? 0 : 2;
  const uint64_t pcs_bytes = 16 * (debug.pcs.size() + sentinels);
  const uint64_t scopes_bytes = (debug.scopes.size() + 7) & ~7ULL;
  const uint64_t metadata_bytes = 8 * debug.metadata.size();
  uint64_t metadata = 0, scopes = 0, pcs = 0;
  if (p) {
    metadata = blob + kCodeOffset + kCodeBytes;
    scopes = metadata + metadata_bytes;
    pcs = scopes + scopes_bytes;
    put(blob + field("nmethod::_metadata_offset"), static_cast<int32_t>(metadata - blob));
    put(blob + field("CompiledMethod::_scopes_data_begin"), scopes);
    put(blob + field("nmethod::_scopes_pcs_offset"), static_cast<int32_t>(pcs - blob));
    put(blob + field("nmethod::_dependencies_offset"),
        static_cast<int32_t>(pcs + pcs_bytes - blob));
  } else {
    constexpr uint64_t kRelocations = 24, kDependencies = 16;  // what else lies there
    const uint64_t changing = metaspace(kRelocations + metadata_bytes);
    const uint64_t constant = metaspace(kDependencies + pcs_bytes + scopes_bytes);
    metadata = changing + kRelocations;
    pcs = constant + kDependencies;
    scopes = pcs + pcs_bytes;
    put(blob + field("CodeBlob::_relocation_size"), static_cast<int32_t>(kRelocations));
    put(blob + field("CodeBlob::_mutable_data"), changing);
    put(blob + field("CodeBlob::_mutable_data_size"),
        static_cast<int32_t>(kRelocations + metadata_bytes));
    put(blob + field("nmethod::_immutable_data"), constant);
    put(blob + field("nmethod::_immutable_data_size"),
        static_cast<int32_t>(scopes + scopes_bytes - constant));
    put(blob + field("nmethod::_scopes_pcs_offset"), static_cast<int32_t>(pcs - constant));
    put(blob + field("nmethod::_scopes_data_offset"), static_cast<int32_t>(scopes - constant));
  }
  for (size_t i = 0; i < debug.metadata.size(); ++i) put(metadata + 8 * i, debug.metadata[i]);
  put_bytes(scopes, debug.scopes);
  uint64_t next = pcs;
  const auto pc_desc = [&](int32_t pc, int32_t scope) {
    put(next, pc);
    put(next + 4, scope);
    next += 16;
  };
  if (sentinels != 0) pc_desc(-1, 0);
  for (const auto& [pc, scope] : debug.pcs) pc_desc(pc, scope);
  if (sentinels != 0) pc_desc(static_cast<int32_t>(kCodeBytes) + 1, 0);
  const uint64_t set = metaspace(8);
  put(set, debug.oop_maps < 0 ? static_cast<int32_t>(debug.pcs.size()) : debug.oop_maps);
  put(blob + field("CodeBlob::_oop_maps"), set);
}

inline uint64_t FakeJvm::add_nmethod(const NmethodSpec& spec) {
  const bool p = style_ == Style::pointers;
  const uint64_t blob = new_blob(spec.native_name ? "native nmethod" : "nmethod", 1,
                                 spec.debug.pcs.empty() ? kBlobSegments : kDebugSegments);
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
  add_debug(blob, spec.debug);
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

#include "fake_jvm_tables.h"
