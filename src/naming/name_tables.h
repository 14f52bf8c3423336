// NameTables: what the answers of all sources of names are made of, each thing numbered once:
// frames, names of mapped files, chains of inlined frames, bodies of JIT code. Things whose numbers
// another thread was told may be read there while more are numbered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/stable_vector.h"
#include "naming/frame_table.h"
#include "naming/resolution.h"

namespace jitscope {

class NameTables {
 public:
  [[nodiscard]] FrameTable& frames() { return frames_; }
  [[nodiscard]] const FrameTable& frames() const { return frames_; }

  uint32_t dso_number(const std::string& dso);
  [[nodiscard]] const std::string& dso(uint32_t number) const { return dsos_[number]; }

  // Innermost first, without the function that they were inlined into. 0 is the empty chain.
  uint32_t inlined_number(std::vector<FrameId> frames);
  [[nodiscard]] const std::vector<FrameId>& inlined(uint32_t number) const {
    return inlined_[number];
  }

  // `origin` and `number` tell the body from all others. Never 0.
  uint32_t jit_number(const void* origin, uint64_t number, const JitCode& code);
  [[nodiscard]] const JitCode& jit_code(uint32_t number) const { return jit_codes_[number]; }

  // An address that has no name.
  Resolution nameless(const AddressQuery& query, NoName reason, FramePlace place, std::string dso,
                      std::string dso_path);

 private:
  FrameTable frames_;
  StableVector<std::string> dsos_;
  std::unordered_map<std::string, uint32_t> dso_numbers_;
  StableVector<std::vector<FrameId>> inlined_{std::vector<FrameId>()};
  StableVector<JitCode> jit_codes_{JitCode()};
  std::map<std::tuple<const void*, uint64_t, FrameId>, uint32_t> jit_numbers_;
};

// What was made of a symbol or a body, to be found again: most addresses lie in few functions.
struct MadeName {
  FrameId frame = 0;
  uint32_t dso = 0;
  uint32_t jit = 0;
  uint32_t inlined = 0;  // of a perf map's name that stands for several methods
};
struct MadeKey {
  const void* source = nullptr;  // a MappedContents, a LoadedDump or a JitSources
  uint64_t place = 0;            // address, body, line of the map
  uint32_t life = 0;
  uint32_t file = 0;
  bool operator==(const MadeKey&) const = default;
};
struct MadeHash {
  size_t operator()(const MadeKey& key) const {
    const uint64_t mixed = (reinterpret_cast<uintptr_t>(key.source) ^ key.place) +
                           (static_cast<uint64_t>(key.life) << 40U) + key.file;
    return static_cast<size_t>((mixed * 0x9e3779b97f4a7c15ULL) >> 16U);
  }
};
using MadeNames = std::unordered_map<MadeKey, MadeName, MadeHash>;

}  // namespace jitscope
