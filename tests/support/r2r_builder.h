// ReadyToRun images made in code: metadata, functions, entries of methods and of instances, cold
// code, composite images.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/ecma_builder.h"
#include "support/pe_builder.h"

namespace jitscope::test {

inline std::string native_number(uint32_t value) {
  LittleBytes out;
  if (value < 1U << 7U) return out.u8(value << 1U).bytes();
  if (value < 1U << 14U) return out.u16(value << 2U | 1U).bytes();
  if (value < 1U << 21U) return out.u16(value << 3U | 3U).u8(value >> 13U).bytes();
  if (value < 1U << 28U) return out.u32(value << 4U | 7U).bytes();
  return out.u8(15).u32(value).bytes();
}

inline std::string native_signed_number(int32_t value) {
  const auto bits = static_cast<uint32_t>(value);
  LittleBytes out;
  if (value >= -64 && value < 64) return out.u8(bits << 1U).bytes();
  if (value >= -8192 && value < 8192) return out.u16(bits << 2U | 1U).bytes();
  if (value >= -1048576 && value < 1048576) {
    return out.u16(bits << 3U | 3U).u8(bits >> 13U).bytes();
  }
  if (value >= -134217728 && value < 134217728) return out.u32(bits << 4U | 7U).bytes();
  return out.u8(15).u32(bits).bytes();
}

// Elements by index. `leaves`: a subtree of one element is written as one node, as crossgen does.
class NativeArrayBuilder {
 public:
  bool leaves = true;
  int entry_size = 2;  // as a power of two
  std::map<uint32_t, std::string> elements;

  [[nodiscard]] std::string build() const {
    const uint32_t count = elements.empty() ? 0 : elements.rbegin()->first + 1;
    const uint32_t blocks = (count + 15) / 16;
    LittleBytes index;
    std::string data;
    const size_t index_size = size_t{blocks} << entry_size;
    for (uint32_t block = 0; block < blocks; ++block) {
      std::map<uint32_t, std::string> part;
      for (const auto& [at, bytes] : elements) {
        if (at / 16 == block) part[at % 16] = bytes;
      }
      const size_t at = index_size + data.size();
      entry_size == 0 ? index.u8(at) : entry_size == 1 ? index.u16(at) : index.u32(at);
      data += tree(part, 8);
    }
    return native_number(count << 2U | static_cast<uint32_t>(entry_size)) + index.bytes() + data;
  }

 private:
  [[nodiscard]] std::string tree(const std::map<uint32_t, std::string>& part, uint32_t bit) const {
    if (part.empty()) return native_number(4 * 16);  // a number that no element has
    if (bit == 0) return part.begin()->second;
    if (leaves && part.size() == 1) {
      return native_number(part.begin()->first << 2U) + part.begin()->second;
    }
    std::map<uint32_t, std::string> low;
    std::map<uint32_t, std::string> high;
    for (const auto& [at, bytes] : part) ((at & bit) != 0 ? high : low)[at] = bytes;
    const std::string left = low.empty() ? "" : tree(low, bit / 2);
    if (high.empty()) return native_number(1) + left;
    const uint32_t flags = low.empty() ? 2 : 3;
    for (size_t size = 1;; ++size) {  // of the node's own number
      const auto offset = static_cast<uint32_t>(size + left.size());
      const std::string node = native_number(offset << 2U | flags);
      if (node.size() == size) return node + left + tree(high, bit / 2);
    }
  }
};

// Two buckets; the entries lie behind the table.
inline std::string native_hash_table(const std::vector<std::string>& entries) {
  const size_t cells = 3 * 4;
  const size_t head = 1 + cells;
  const size_t entry = 6;  // the hash, and a number of five bytes
  const size_t first = (entries.size() + 1) / 2;
  LittleBytes out;
  out.u8(1U << 2U | 2U);
  for (const size_t before : {size_t{0}, first, entries.size()}) out.u32(cells + before * entry);
  size_t at = head + entries.size() * entry;
  for (size_t i = 0; i < entries.size(); ++i) {
    out.u8(0x5a).u8(15).u32(at - (head + i * entry + 1));
    at += entries[i].size();
  }
  for (const std::string& each : entries) out.text(each);
  return out.bytes();
}

struct R2rBuilder {
  static constexpr uint32_t kRva = 0x10000;  // of the section, which the file has at another place

  struct Function {
    uint32_t begin = 0;
    uint32_t end = 0;
  };
  struct Component {
    std::string metadata;  // empty: not in the image
    std::map<uint32_t, uint32_t> entries;
  };

  std::string metadata;
  std::vector<Function> functions;
  std::map<uint32_t, uint32_t> entries;                     // row of MethodDef: function
  std::vector<std::pair<std::string, uint32_t>> instances;  // signature, function
  std::vector<std::pair<uint32_t, uint32_t>> hot_cold;      // cold, hot
  std::map<uint32_t, std::string> more_sections;            // by type
  std::vector<Component> components;                        // of a composite image
  std::vector<std::pair<uint32_t, std::string>> debug;      // entries, by type
  uint16_t machine = 0xfd1d;
  uint16_t major = 9;
  uint16_t minor = 1;
  uint32_t flags = 0;
  uint32_t magic = 0x00525452;
  bool native_header = true;
  bool fixups = false;  // entries that have lists of fixups

  [[nodiscard]] std::string build() const {
    std::string data = "here is code, if there were any.";
    const auto put = [&](const std::string& bytes) {
      const PeBuilder::Directory where{kRva + static_cast<uint32_t>(data.size()),
                                       static_cast<uint32_t>(bytes.size())};
      data += bytes;
      data.append((4 - data.size() % 4) % 4, '\0');
      return where;
    };
    std::map<uint32_t, PeBuilder::Directory> sections;
    LittleBytes rows;
    for (const auto& [begin, end] : functions) rows.u32(begin).u32(end).u32(0);
    if (!functions.empty()) sections[102] = put(rows.bytes());
    if (!entries.empty()) sections[103] = put(array(entries));
    std::vector<std::string> signatures;
    for (const auto& [signature, function] : instances) {
      signatures.push_back(signature + number(function));
    }
    if (!instances.empty()) sections[109] = put(native_hash_table(signatures));
    LittleBytes cold;
    for (const auto& [first, second] : hot_cold) cold.u32(first).u32(second);
    if (!hot_cold.empty()) sections[120] = put(cold.bytes());
    for (const auto& [type, bytes] : more_sections) sections[type] = put(bytes);
    if (!components.empty()) {
      LittleBytes table;
      for (const Component& each : components) {
        PeBuilder::Directory cli{};
        if (!each.metadata.empty()) cli = put(cli_header(put(each.metadata), {}));
        LittleBytes core;
        const PeBuilder::Directory methods = put(array(each.entries));
        core.u32(0).u32(1).u32(103).u32(methods.rva).u32(methods.size);
        const PeBuilder::Directory header = put(core.bytes());
        table.u32(cli.rva).u32(cli.size).u32(header.rva).u32(header.size);
      }
      sections[115] = put(table.bytes());
    }
    LittleBytes header;
    header.u32(magic).u16(major).u16(minor).u32(flags).u32(sections.size());
    for (const auto& [type, where] : sections) header.u32(type).u32(where.rva).u32(where.size);
    const PeBuilder::Directory native = put(header.bytes());

    PeBuilder pe;
    pe.machine = machine;
    if (components.empty()) {
      pe.directories[14] =
          put(cli_header(put(metadata), native_header ? native : PeBuilder::Directory{}));
    } else {
      pe.directories[0] = put(exports(kRva + static_cast<uint32_t>(data.size()), native.rva));
    }
    if (!debug.empty()) {
      LittleBytes entries_of_debug;
      for (const auto& [type, bytes] : debug) {
        const PeBuilder::Directory where = put(bytes);
        entries_of_debug.zeros(12).u32(type).u32(where.size).u32(where.rva).u32(0);
      }
      pe.directories[6] = put(entries_of_debug.bytes());
    }
    pe.sections = {{".text", kRva, data}};
    return pe.build();
  }
  // Of debug entries: type 2 and type 21.
  static std::string code_view(std::string_view guid) {
    return "RSDS" + std::string(guid) + LittleBytes().u32(1).bytes() + "a.pdb" + '\0';
  }
  static std::string perf_map_entry(std::string_view signature) {
    return "R2RM" + std::string(signature) + LittleBytes().u32(1).bytes() + "a.ni.r2rmap" + '\0';
  }

 private:
  [[nodiscard]] std::string number(uint32_t function) const {
    return fixups ? native_number(function << 2U | 1U) + "fix" : native_number(function << 1U);
  }
  [[nodiscard]] std::string array(const std::map<uint32_t, uint32_t>& from) const {
    NativeArrayBuilder out;
    for (const auto& [row, function] : from) out.elements[row - 1] = number(function);
    return out.build();
  }
  static std::string cli_header(PeBuilder::Directory metadata, PeBuilder::Directory native) {
    LittleBytes out;
    out.u32(72).u16(2).u16(5).u32(metadata.rva).u32(metadata.size).u32(4).zeros(44);
    return out.u32(native.rva).u32(native.size).bytes();
  }
  // RTR_HEADER behind another symbol.
  static std::string exports(uint32_t rva, uint32_t header) {
    LittleBytes out;
    out.zeros(20).u32(2).u32(2).u32(rva + 40).u32(rva + 48).u32(rva + 56);
    out.u32(0x1234).u32(header);      // addresses
    out.u32(rva + 60).u32(rva + 66);  // names
    out.u16(0).u16(1).text("OTHER").u8(0).text("RTR_HEADER").u8(0);
    return out.bytes();
  }
};

}  // namespace jitscope::test
