// Resolver: an address of a process at a moment -> frames, by the order of trust: a body that a
// timed source says was alive then; the ELF file mapped there; a map of the mapped file; an untimed
// perf map. Whatever has no name has a reason.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "formats/perfdata/records.h"
#include "naming/frame.h"
#include "naming/jit_sources.h"
#include "replay/mapped_files.h"
#include "replay/processes.h"
#include "symbolize/kernel_symbols.h"

namespace jitscope {

class OfflineImages;
class TextCompare;

// A body that a JIT source named, for those who write it down: what lay at [start, start + size).
// One entry for each body and each way it was shown (certain or ambiguous).
struct JitCode {
  std::shared_ptr<const LoadedDump> dump;  // null: a line of a perf map, or of one given by hand
  BodyId body = kNoBody;                   // of the dump
  uint64_t start = 0;
  uint64_t size = 0;  // 0: not known
  FrameId frame = 0;
};

// What one address turned out to be, while it holds. Small: a recording has many.
struct Location {
  uint64_t ip = 0;             // in the process
  uint64_t shown_ip = 0;       // as perf script prints it: in ELF files relative to the file
  uint64_t symbol_offset = 0;  // from the symbol's start
  uint32_t dso = 0;            // Resolver::dso(): as perf script prints it
  FrameId frame = 0;           // the function's own
  uint32_t inlined = 0;        // Resolver::inlined(): what was inlined into it there
  uint32_t jit = 0;            // Resolver::jit_code(): the JIT's body; 0: none
  bool operator==(const Location&) const = default;
};
struct Resolution {
  Location location;
  uint64_t valid_from = 0;
  uint64_t valid_until = kForever;
  bool unmapped = false;  // holds until the process maps something
  // Addresses (of calls, for return addresses) for which the same holds: frame and file are the
  // same, shown_ip and symbol_offset go in step with ip (the offset of what has no symbol is 0).
  AddressRange range;
  bool named = false;        // symbol_offset is one
  uint64_t symbol_size = 0;  // of what a map given by hand named
};

struct AddressQuery {
  uint64_t ip = 0;
  bool caller = false;  // ip is a return address: the call is before it
  perfdata::CpuMode mode = perfdata::CpuMode::user;
  uint64_t time = 0;
};

class FrameTable {
 public:
  FrameId number(Frame frame);
  [[nodiscard]] const Frame& operator[](FrameId id) const { return frames_[id]; }
  [[nodiscard]] const std::vector<Frame>& all() const { return frames_; }
  std::vector<Frame> take() { return std::move(frames_); }

 private:
  std::vector<Frame> frames_;
  static constexpr FrameId kNoFrame = UINT32_MAX;
  struct Slot {
    size_t hash = 0;
    FrameId id = kNoFrame;
  };
  void grow();
  std::vector<Slot> slots_;  // by hash, open addressing
};

class Resolver {
 public:
  Resolver(SourceContext& context, const NamingOptions& options);
  ~Resolver();

  Resolution resolve(ProcessLife& life, const AddressQuery& query);
  // KSYMBOL records and the kernel's mapping, in the order of time. True when kernel answers given
  // so far may no longer hold.
  bool apply_kernel(const perfdata::Record& record);
  void set_kernel_build_id(std::span<const std::byte> id);
  JitSources& sources(ProcessLife& life);
  Status add_offline_map(const std::string& option);

  [[nodiscard]] FrameTable& frames() { return frames_; }
  [[nodiscard]] const FrameTable& frames() const { return frames_; }
  [[nodiscard]] const std::string& dso(const Location& location) const {
    return dsos_[location.dso];
  }
  // Innermost first, without the function itself.
  [[nodiscard]] const std::vector<FrameId>& inlined(const Location& location) const {
    return inlined_[location.inlined];
  }
  // Of a Location::jit that is not 0.
  [[nodiscard]] const JitCode& jit_code(uint32_t number) const { return jit_codes_[number]; }

 private:
  struct Made {
    FrameId frame = 0;
    uint32_t dso = 0;
    uint32_t jit = 0;
    uint32_t inlined = 0;  // of a perf map's name that stands for several methods
  };
  struct BpfSymbol {
    uint64_t end = 0;
    std::string name;
  };
  static constexpr std::string_view kJitDso = "[jit]";
  // Where perf puts what lies in memory that no file backs: what tools that read perf script's
  // output know as JIT code.
  static std::string map_dso(const ProcessLife& life);
  Resolution resolve_kernel(const AddressQuery& query);
  Resolution resolve_user(ProcessLife& life, const AddressQuery& query);
  [[nodiscard]] bool in_erlang_prologue(const ProcessLife& life, const Resolution& answer) const;
  Resolution resolve_mapped(ProcessLife& life, const MappedRange& mapped, const AddressQuery& query,
                            uint64_t lookup);
  Resolution resolve_in(ProcessLife& life, const MappedRange& mapped, const AddressQuery& query,
                        uint64_t lookup, AddressRange& reach);
  bool resolve_elf(Resolution& out, const MappedRange& range, const AddressQuery& query,
                   uint64_t lookup, NoName& reason, AddressRange& reach);
  bool resolve_copied(Resolution& out, const ProcessLife& life, const MappedRange& range,
                      const AddressQuery& query, uint64_t lookup, AddressRange& reach);
  std::optional<JitAnswer> ask_timed(ProcessLife& life, const MappedRange& range, uint64_t address,
                                     uint64_t time, NoBody& none, AddressRange& reach);
  std::optional<JitAnswer> ask_untimed(ProcessLife& life, const MappedRange& range,
                                       uint64_t address, AddressRange& reach);
  void take_jit_answer(Resolution& out, const ProcessLife& life, JitAnswer& answer,
                       const MappedRange& range, uint64_t lookup, const AddressQuery& query,
                       AddressRange& reach);
  bool is_wasm_jump_table(ProcessLife& life, const MappedRange& range, uint64_t address,
                          uint64_t time);
  uint32_t jit_inlined(const JitAnswer& answer, const CodeScopes& scopes, const ScopeChain& chain,
                       FrameId outer);
  Made make_jit_frame(const ProcessLife& life, JitAnswer& answer, const MappedRange& range,
                      uint64_t lookup, const CodeScopes* scopes, const ScopeChain& chain);
  Resolution nameless(const AddressQuery& query, NoName reason, FramePlace place, std::string dso,
                      std::string dso_path);
  void load_kernel();
  uint32_t dso_number(const std::string& dso);

  SourceContext& context_;
  const NamingOptions& options_;
  FrameTable frames_;
  std::vector<std::string> dsos_;
  std::unordered_map<std::string, uint32_t> dso_numbers_;
  std::vector<std::vector<FrameId>> inlined_{{}};
  uint32_t unfolded(Runtime runtime, std::span<const std::string_view> parts, FrameId outer);
  uint32_t jit_number(const JitAnswer& answer, FrameId frame);
  uint32_t offline_number(const Resolution& answer, const AddressQuery& query);
  std::vector<JitCode> jit_codes_{{}};
  std::map<std::tuple<const void*, uint64_t, FrameId>, uint32_t> jit_numbers_;
  // What was inlined, by dump, body, innermost scope and the body's frame.
  std::map<std::tuple<const void*, BodyId, uint32_t, FrameId>, uint32_t> jit_inlined_;
  // Frames of ELF symbols, by file and address, and of JIT bodies, by dump (or map) and body: most
  // addresses lie in few functions.
  struct MadeKey {
    const void* source = nullptr;  // an MappedContents, a LoadedDump or a JitSources
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
  std::unordered_map<MadeKey, Made, MadeHash> made_;
  bool kernel_loaded_ = false;
  std::unique_ptr<KernelSymbols> kernel_;
  NoName kernel_reason_ = NoName::none;
  std::vector<std::byte> kernel_build_id_;
  uint64_t recorded_text_ = 0;  // address of the kernel's first symbol in the recording
  std::string recorded_text_name_;
  std::map<uint64_t, BpfSymbol> bpf_;  // by start
  std::unique_ptr<OfflineImages> offline_;
  std::unique_ptr<TextCompare> compare_;
  bool any_offline_ = false;
};

}  // namespace jitscope
