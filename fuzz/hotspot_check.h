// What the fuzzer and the replay test run: the HotSpot readers over memory that the input
// describes.
//
// Input: one byte that says what it is.
//  'M'  memory: records {u64 address, u32 length, u32 data bytes, data}; the bytes of a record
//  behind
//       its data are zero. HotSpot's exported variables lie at fixed addresses (kFuzzSymbols, in
//       the order of fuzz_symbols()). The whole reading runs over it, twice, with the lines and
//       inlining of every body, and the loaded methods.
//  'D'  debug information of one nmethod: form of its numbers (a byte), u32 bytes of PcDescs, u32
//       bytes of scopes, both, and the rest is metadata. The body's own method is at 0x1000, its
//       code has 4096 bytes.
//  'L'  a line number table: form of its numbers (a byte), the table
//  'S'  a method descriptor, a class name and a method name, separated by line ends
//  'N'  a .note.stapsdt section
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"
#include "formats/elf/stap_notes.h"
#include "process/memory_reader.h"
#include "runtimes/hotspot/hotspot_reader.h"
#include "runtimes/hotspot/line_numbers.h"
#include "runtimes/hotspot/scope_reader.h"
#include "runtimes/hotspot/signature.h"
#include "runtimes/hotspot/vm_release.h"

namespace jitscope::hotspot::test {

constexpr uint64_t kFuzzSymbols = 0x7e0000000000;

inline const auto& fuzz_symbols() {
  static constexpr std::array kNames = {"Structs",
                                        "Types",
                                        "IntConstants",
                                        "LongConstants",
                                        "StructEntryTypeNameOffset",
                                        "StructEntryFieldNameOffset",
                                        "StructEntryTypeStringOffset",
                                        "StructEntryIsStaticOffset",
                                        "StructEntryOffsetOffset",
                                        "StructEntryAddressOffset",
                                        "StructEntryArrayStride",
                                        "TypeEntryTypeNameOffset",
                                        "TypeEntrySizeOffset",
                                        "TypeEntryIsUnsignedOffset",
                                        "TypeEntryArrayStride",
                                        "IntConstantEntryNameOffset",
                                        "IntConstantEntryValueOffset",
                                        "IntConstantEntryArrayStride",
                                        "LongConstantEntryNameOffset",
                                        "LongConstantEntryValueOffset",
                                        "LongConstantEntryArrayStride"};
  return kNames;
}

inline std::optional<uint64_t> fuzz_symbol_lookup(std::string_view symbol) {
  constexpr std::string_view kPrefix = "gHotSpotVM";
  if (!symbol.starts_with(kPrefix)) return std::nullopt;
  symbol.remove_prefix(kPrefix.size());
  const auto& names = fuzz_symbols();
  const auto* found = std::find(names.begin(), names.end(), symbol);
  if (found == names.end()) return std::nullopt;
  return kFuzzSymbols + 8 * static_cast<uint64_t>(found - names.begin());
}

class FuzzMemory : public MemoryReader {
 public:
  explicit FuzzMemory(std::span<const std::byte> records) {
    ByteCursor cursor(records);
    while (!cursor.at_end()) {
      const uint64_t address = cursor.u64();
      const uint64_t length = cursor.u32();
      const uint64_t size = cursor.u32();
      const auto data = cursor.bytes(std::min<uint64_t>(size, cursor.remaining()));
      if (!cursor.ok()) break;
      parts_.insert_or_assign(
          address,
          Part{std::max<uint64_t>(data.size(), std::min<uint64_t>(length, 1U << 20U)), data});
    }
  }

  Status read(uint64_t address, std::span<std::byte> out) override {
    while (!out.empty()) {
      auto next = parts_.upper_bound(address);
      if (next == parts_.begin()) return unreadable();
      const auto& [start, part] = *--next;
      const uint64_t offset = address - start;
      if (offset >= part.length) return unreadable();
      const size_t take = std::min<uint64_t>(out.size(), part.length - offset);
      const size_t there =
          offset < part.data.size() ? std::min<uint64_t>(take, part.data.size() - offset) : 0;
      if (there > 0) std::memcpy(out.data(), part.data.data() + offset, there);
      std::memset(out.data() + there, 0, take - there);
      out = out.subspan(take);
      address += take;
    }
    return {};
  }

 private:
  static std::unexpected<Error> unreadable() {
    return fail(ErrorKind::not_possible, "cannot read memory");
  }
  struct Part {
    uint64_t length;
    std::span<const std::byte> data;
  };
  std::map<uint64_t, Part> parts_;
};

// What the run found, so that a replay can tell that it went all the way.
struct FuzzOutcome {
  size_t bodies = 0;
  size_t methods = 0;
  size_t texts = 0;
  size_t notes = 0;
  size_t ranges = 0;
  size_t inlined = 0;  // scopes with a caller
  size_t lines = 0;    // scopes with a line, and line tables
};

// What the readers promise of ranges, whatever the memory says.
inline void check_ranges(std::span<const CodeScopes::Range> ranges, size_t scopes, uint64_t size) {
  uint32_t end = 0;
  for (const CodeScopes::Range& range : ranges) {
    if (range.begin < end || range.end <= range.begin || range.end > size ||
        range.scope >= scopes) {
      std::abort();
    }
    end = range.end;
  }
}

inline void check_scopes(const CodeScopes& scopes, const CodeBody& body, FuzzOutcome& outcome) {
  check_ranges(scopes.ranges, scopes.scopes.size(), body.size);
  if (scopes.methods.empty() || scopes.methods[0].name != body.name->display()) std::abort();
  std::vector<uint32_t> depths;
  for (const CodeScopes::Scope& scope : scopes.scopes) {
    if (scope.method >= scopes.methods.size() || scope.bci < -1) std::abort();
    uint32_t depth = 1;
    if (scope.parent != CodeScopes::kNone) {
      if (scope.parent >= depths.size()) std::abort();
      depth += depths[scope.parent];
      ++outcome.inlined;
    } else if (scope.method != 0) {
      std::abort();
    }
    if (depth > CodeScopes::kDeepest) std::abort();
    depths.push_back(depth);
    outcome.lines += scope.line != 0 ? 1 : 0;
  }
  outcome.ranges += scopes.ranges.size();
}

inline void check_details(HotspotReader& reader, MemoryReader& memory, Diagnostics& diagnostics,
                          const Snapshot& snapshot, FuzzOutcome& outcome) {
  std::vector<const CodeBody*> bodies;
  for (const CodeBody& body : snapshot.bodies) bodies.push_back(&body);
  const auto details = reader.details(memory, diagnostics, bodies);
  const auto again = reader.details(memory, diagnostics, bodies);
  if (details.size() != bodies.size() || again.size() != bodies.size()) std::abort();
  outcome.ranges = outcome.inlined = outcome.lines = 0;
  for (size_t i = 0; i < bodies.size(); ++i) {
    if (details[i].scopes) check_scopes(*details[i].scopes, *bodies[i], outcome);
  }
}

inline Unsigned5 fuzz_form(ByteCursor& cursor) {
  return (cursor.u8() & 1U) != 0 ? Unsigned5::no_zero : Unsigned5::plain;
}

inline void fuzz_debug(std::span<const std::byte> input, FuzzOutcome& outcome) {
  constexpr uint32_t kCode = 4096;
  ByteCursor cursor(input);
  const Unsigned5 form = fuzz_form(cursor);
  const uint32_t pcs = cursor.u32();
  const uint32_t scopes = cursor.u32();
  ScopeBytes bytes;
  bytes.pc_descs = cursor.bytes(pcs);
  bytes.scopes = cursor.bytes(scopes);
  if (!cursor.ok()) return;
  bytes.metadata = cursor.rest();
  bytes.own_method = 0x1000;
  bytes.code_bytes = kCode;
  const auto decoded = decode_scopes({{0, 4, true}, {4, 4, true}, 16}, bytes, form);
  if (!decoded) return;
  check_ranges(decoded->ranges, decoded->scopes.size(), kCode);
  outcome.ranges = decoded->ranges.size();
}

inline void fuzz_lines(std::span<const std::byte> input, FuzzOutcome& outcome) {
  ByteCursor cursor(input);
  const Unsigned5 form = fuzz_form(cursor);
  const auto lines = LineNumbers::decode(cursor.rest(), form);
  if (!lines) return;
  for (const int32_t bci : {-1, 0, 7, 65535, 65536}) (void)lines->line_of(bci);
  ++outcome.lines;
}

inline FuzzOutcome fuzz_hotspot(std::span<const std::byte> input) {
  FuzzOutcome outcome;
  if (input.empty()) return outcome;
  const auto kind = static_cast<char>(input.front());
  input = input.subspan(1);
  if (kind == 'M') {
    FuzzMemory memory(input);
    Diagnostics diagnostics;
    if (auto structs = VmStructs::read(memory, fuzz_symbol_lookup)) {
      (void)read_vm_release(memory, *structs);
    }
    auto reader = HotspotReader::open(memory, fuzz_symbol_lookup, CallConvention::hotspot_x86_64);
    if (!reader) return outcome;
    for (int round = 0; round < 2; ++round) {
      if (const auto snapshot = reader->read(memory, diagnostics)) {
        outcome.bodies = snapshot->bodies.size();
        for (const CodeBody& body : snapshot->bodies) {
          if (body.name == nullptr || body.size == 0) std::abort();
        }
        check_details(*reader, memory, diagnostics, *snapshot, outcome);
      }
    }
    if (const auto methods = reader->loaded_methods(memory, diagnostics)) {
      outcome.methods = methods->size();
    }
  } else if (kind == 'S') {
    ByteCursor cursor(input);
    const std::string_view descriptor = cursor.line();
    const std::string_view holder = cursor.line();
    const std::string_view name = cursor.line();
    (void)parse_signature(descriptor);
    (void)is_modified_utf8(holder);
    if (make_method_info(holder, name, descriptor, 0)) ++outcome.texts;
  } else if (kind == 'D') {
    fuzz_debug(input, outcome);
  } else if (kind == 'L') {
    fuzz_lines(input, outcome);
  } else if (kind == 'N') {
    outcome.notes = parse_stap_notes(input).size();
  }
  return outcome;
}

}  // namespace jitscope::hotspot::test
