// CompiledCode: what CompiledMethodLoad tells about the code of one method, as CodeScopes and as
// the line entries of a jitdump. Pure: no JVM is needed.
//
// HotSpot gives one chain of frames (leaf first) for each of its PcDescs. A PcDesc stands at the
// end of what it describes: behind a call, or behind the instructions of one place when
// DebugNonSafepoints is on. So a chain holds from the PC before it up to its own. Other JVMs give a
// map of start addresses, each of which holds up to the next.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "formats/jitdump/code_scopes.h"
#include "formats/jitdump/jitdump.h"

namespace jitscope::agent {

struct MethodFacts {
  struct Line {
    int64_t begin = 0;  // the first bytecode index that it holds for
    uint32_t line = 0;
  };
  std::string name;
  std::string file;         // "" when the class has no SourceFile
  std::vector<Line> lines;  // by `begin`; empty when the class has no line numbers
  // 0: not known. What HotSpot numbers below 0 (entry, exit, deoptimization) is at the beginning.
  [[nodiscard]] uint32_t line_at(int32_t bci) const;
};

struct Frame {
  uint32_t method = 0;  // index into the methods that finish() is given
  int32_t bci = -1;
};

class CompiledCode {
 public:
  // `exact`: the places between safepoints were recorded too.
  CompiledCode(uint64_t address, uint64_t size, bool exact)
      : address_(address), size_(size), exact_(exact) {}
  // Frames leaf first; more than CodeScopes::kDeepest lose the innermost ones. A PC outside of the
  // code is left out.
  void ends_at(uint64_t pc, std::span<const Frame> leaf_first);
  void begins_at(uint64_t pc, std::span<const Frame> leaf_first);
  // methods[0] is the body's own. Empty ranges: nothing was told.
  [[nodiscard]] CodeScopes finish(std::span<const MethodFacts> methods);

 private:
  struct Mark {
    uint32_t offset = 0;
    uint32_t scope = 0;
  };
  uint32_t scope_of(std::span<const Frame> leaf_first);

  uint64_t address_;
  uint64_t size_;
  bool exact_;
  std::vector<Mark> ends_;
  std::vector<Mark> begins_;
  std::vector<CodeScopes::Scope> scopes_;
  std::map<std::tuple<uint32_t, uint32_t, int32_t>, uint32_t> known_;  // parent, method, bci
};

// The innermost place of each range: what DEBUG_INFO can say. Where nothing is known, an entry of
// line 0 ends the one before it. The texts are those of `scopes`.
[[nodiscard]] std::vector<jitdump::LineEntry> line_entries(const CodeScopes& scopes,
                                                           uint64_t address, uint64_t size);

}  // namespace jitscope::agent
