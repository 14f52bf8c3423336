// CodeBody: one compiled version of one method, as a code source knows it at one moment.
//
// Addresses are virtual addresses of the target, sizes are bytes. A body is a value: it holds no
// reference to the process or to the source it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/open_file.h"

namespace jitscope {

enum class Runtime : uint8_t { unknown, hotspot, v8, dotnet, erlang, php, mono };
[[nodiscard]] std::string_view to_string(Runtime runtime);

// How much the compiler did for this body.
enum class Tier : uint8_t {
  unknown,
  bytecode,    // V8 `~`: bytecode in a data page, no machine code: never probed
  baseline,    // V8 `^` Sparkplug, JavaScriptCore's baseline JIT
  maglev,      // V8 `+`
  turbofan,    // V8 `*`
  c1,          // HotSpot level 1, no profiling
  c1_limited,  // HotSpot level 2
  c1_full,     // HotSpot level 3, full profiling
  c2,          // HotSpot level 4 (C2 or a JVMCI compiler)
  dfg,         // JavaScriptCore, the first optimizing one
  ftl,         // JavaScriptCore, the last
  bbq,         // JavaScriptCore's WebAssembly, quickly compiled
  omg,         // JavaScriptCore's WebAssembly, optimized
  native,      // HotSpot native wrapper
  prejit,      // .NET ReadyToRun: compiled ahead of time, by the compiler of the last tier
  stub,        // runtime stub, adapter, builtin, interpreter: not a method of the program
};
[[nodiscard]] std::string_view to_string(Tier tier);

enum class BodyState : uint8_t {
  unknown,      // the source does not tell
  in_use,       // calls enter it
  not_entrant,  // no new calls; activations may go on
  dead,         // about to be freed
};
[[nodiscard]] std::string_view to_string(BodyState state);

// Which code source said so.
enum class SourceKind : uint8_t { hotspot_memory, perf_map, compiler_perfmap, mapped_image };
[[nodiscard]] std::string_view to_string(SourceKind kind);

// A name in its three parts plus the bytes the source gave. display() is what users see and write.
struct MethodName {
  std::string type;        // "java.util.HashMap", "" where there is none
  std::string function;    // "put"; for V8 the function name, "" for an anonymous one
  std::string parameters;  // "int,java.lang.String"; only meaningful with has_parameters
  std::string location;    // V8: "/srv/app/server.js:12:7" (file:line:column), else ""
  std::string raw;         // exactly as the source has it
  bool has_parameters = false;

  // "java.util.HashMap.put(java.lang.Object,java.lang.Object)", "handle /srv/app/server.js:12:7".
  [[nodiscard]] std::string display() const;
  // Without parameters: "java.util.HashMap.put"; for names with a location the same as display().
  [[nodiscard]] std::string short_name() const;
};

// Where a call finds its arguments at `entry`.
enum class CallConvention : uint8_t { unknown, hotspot_x86_64, v8_x86_64 };

enum class ValueType : uint8_t {
  boolean_,
  char_,
  byte_,
  short_,
  int_,
  long_,
  float_,
  double_,
  reference,
  js_value,  // a tagged V8 value
};
[[nodiscard]] std::string_view to_string(ValueType type);

struct Parameter {
  ValueType type = ValueType::reference;
  std::string type_name;  // "java.lang.String", "int", "this"
};

// Bytes outside the entry that tell that this very body is still the one that lies there (HotSpot:
// compile id and state in the nmethod's header). Checked inside the stop before patching.
struct IdentityCheck {
  uint64_t address = 0;
  std::vector<std::byte> expected;
};

// The file from which code is mapped as it is (images of PE), so that the kernel's uprobes reach
// it.
struct CodeFile {
  std::string path;   // as tools here open it; may have changed its meaning since
  OpenedFile opened;  // the mapped file itself, to read from
};

struct CodeBody {
  uint64_t address = 0;  // first byte of the code, as perf maps give it
  uint64_t size = 0;
  uint64_t entry = 0;  // where every call of the method passes (verified entry); 0 = not known
  std::shared_ptr<const MethodName> name;  // never null; shared between versions
  Tier tier = Tier::unknown;
  BodyState state = BodyState::unknown;
  bool osr = false;  // entered in the middle of a loop, not by calls
  SourceKind source = SourceKind::perf_map;
  // Tells versions at one address apart (HotSpot compile_id; the line's number in a perf map).
  uint64_t version = 0;
  CallConvention convention = CallConvention::unknown;
  std::shared_ptr<const std::vector<Parameter>> parameters;  // null = not known
  uint32_t frame_bytes =
      0;  // between the caller's sp and this frame's sp incl. return address; 0 = not known
  std::vector<IdentityCheck> identity;
  std::shared_ptr<const CodeFile> file;  // null: it lies in memory alone
  uint64_t file_offset = 0;              // of `entry`
  // Why no site may be put on it, "" when one may be tried: "OSR body", "bytecode", "not entrant".
  std::string not_probeable;
};

}  // namespace jitscope
