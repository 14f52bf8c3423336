// Frame: one function on a stack: its name, who gave it, or the reason why it has none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "code/code_body.h"
#include "code/no_name.h"

namespace jitscope {

using FrameId = uint32_t;

enum class FrameKind : uint8_t {
  unknown,  // has no name; `no_name` says why
  native,   // user code of an ELF file
  native_inlined,
  kernel,
  jit,
  jit_inlined,
  runtime,      // stubs, adapters and builtins of a JIT's runtime that it wrote itself
  interpreted,  // interpreter frames that carry the function's name
};
[[nodiscard]] std::string_view to_string(FrameKind kind);

// Who named it, in the order of trust.
enum class NameSource : uint8_t {
  none,
  jitdump,    // a body that a jitdump says was alive then
  recording,  // the same, from the folder that jitscope record left
  elf,
  kernel,
  bpf,
  vdso,
  offline_map,   // --map
  ready_to_run,  // .NET code compiled ahead of time
  pe_symbol,     // a PE image's COFF symbol
  pe_export,     // the nearest export of a stripped one
  pe_bounds,     // where a function of such an image begins; it has no name
  perf_map,      // untimed
};
[[nodiscard]] std::string_view to_string(NameSource source);

// Where the code lies.
enum class FramePlace : uint8_t {
  unmapped,  // nowhere that is known
  memory,    // memory that no file backs: a JIT's
  file,      // a mapped file
  kernel,    // or below it
};

struct Frame {
  std::string method;  // as shown; "" when there is no name
  std::string raw;     // as the source has it
  std::string dso;  // short: "libc.so.6", "[kernel.kallsyms]", "JIT" kinds by their mapping's name
  std::string dso_path;
  FramePlace place = FramePlace::unmapped;
  FrameKind kind = FrameKind::unknown;
  NameSource source = NameSource::none;
  Tier tier = Tier::unknown;
  bool ambiguous = false;
  NoName no_name = NoName::none;  // why there is no name, or no certain one
  std::string candidates;         // when ambiguous: the names, "a | b | c"
  std::string file;               // with --lines
  uint32_t line = 0;
  bool operator==(const Frame&) const = default;
};

}  // namespace jitscope
