// What the fuzzer and the replay test run: the HotSpot readers over memory that the input
// describes.
//
// Input: one byte that says what it is.
//  'M'  memory: records {u64 address, u32 length, u32 data bytes, data}; the bytes of a record
//  behind
//       its data are zero. HotSpot's exported variables lie at fixed addresses (kFuzzSymbols, in
//       the order of fuzz_symbols()). The whole reading runs over it, twice, and the loaded
//       methods.
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

#include "base/byte_cursor.h"
#include "formats/elf/stap_notes.h"
#include "process/memory_reader.h"
#include "runtimes/hotspot/hotspot_reader.h"
#include "runtimes/hotspot/signature.h"

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
};

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
  } else if (kind == 'N') {
    outcome.notes = parse_stap_notes(input).size();
  }
  return outcome;
}

}  // namespace jitscope::hotspot::test
