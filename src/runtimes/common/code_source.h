// CodeSource: something that knows the code bodies of one live process.
//
// read() gives what is alive now and is cheap when little changed (caches by itself). What could
// not be read is counted in diagnostics(), never dropped in silence.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "code/code_body.h"
#include "code/frame_shape.h"
#include "formats/jitdump/code_scopes.h"
#include "process/process.h"

namespace jitscope {

struct Snapshot {
  std::vector<CodeBody> bodies;  // by address
  uint64_t torn = 0;             // bodies skipped because they changed while being read
};

// What a source knows about the inside of a body, beyond its range and name.
struct BodyDetail {
  std::shared_ptr<const CodeScopes> scopes;  // lines and inlining; null: none known
  FrameInfo frame;
};

using NameFilter = std::function<bool(const MethodName&)>;

class CodeSource {
 public:
  virtual ~CodeSource() = default;

  virtual Result<Snapshot> read() = 0;
  // From now on read() may leave out bodies whose names are not wanted, and cost less. `wanted` is
  // kept.
  virtual void only(const NameFilter& /*wanted*/) {}
  // For those who only want to know what lies where: from now on read() may leave out what tells
  // entries and states of bodies (CodeBody::state, identity, not_probeable) and costs less.
  virtual void only_places() {}

  // Methods that the runtime has loaded, compiled or not (HotSpot). Empty where it cannot be told.
  // `name_only` methods have no body yet: calls of them run in the interpreter.
  virtual Result<std::vector<std::shared_ptr<const MethodName>>> loaded_methods() {
    return std::vector<std::shared_ptr<const MethodName>>{};
  }
  [[nodiscard]] virtual bool knows_loaded_methods() const { return false; }

  // One answer for each body, in order, of bodies that the last read() gave. Cached: asking again
  // for the same bodies costs little. A body that changed or went while it was read has an empty
  // detail, and is counted in diagnostics(). Sources that know nothing give empty details.
  virtual Result<std::vector<BodyDetail>> details(std::span<const CodeBody* const> bodies) {
    return std::vector<BodyDetail>(bodies.size());
  }

  [[nodiscard]] virtual SourceKind kind() const = 0;
  // Whether some of its bodies lie in images that are mapped from files, and never move.
  [[nodiscard]] virtual bool has_images() const { return kind() == SourceKind::mapped_image; }
  // "HotSpot structures in memory", "perf map /tmp/perf-12.map".
  [[nodiscard]] virtual std::string describe() const = 0;
  // The perf map that is read, as seen from here; "" for other sources.
  [[nodiscard]] virtual std::string map_file() const { return {}; }
  // What is lost compared with a better source, and why it is not used; "" when nothing.
  [[nodiscard]] virtual std::string caveat() const { return {}; }
  // True when code bodies never move while the process runs (so that entries may be patched); when
  // false, movable_reason() says why.
  [[nodiscard]] virtual bool code_is_fixed() const = 0;
  [[nodiscard]] virtual std::string movable_reason() const { return {}; }
  // The ELF file with USDT probes hotspot:compiled__method__load and __unload as seen from here, or
  // "" where there is none.
  [[nodiscard]] virtual std::string load_probe_file() const { return {}; }

  [[nodiscard]] const Diagnostics& diagnostics() const { return diagnostics_; }

 protected:
  Diagnostics diagnostics_;
};

struct SourceOptions {
  bool force = false;        // read maps of foreign ownership
  std::string map_path;      // a perf map to read instead of the usual places
  bool allow_attach = true;  // may ask a JVM for its Compiler.perfmap when nothing else works
};

}  // namespace jitscope
