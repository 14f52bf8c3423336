// JitNames: what the JIT sources of a process and of those that it was forked from say about an
// address, made into frames with what was inlined there. TimedNames and UntimedNames ask it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "naming/jit_sources.h"
#include "naming/name_tables.h"
#include "naming/question.h"
#include "replay/naming_options.h"

namespace jitscope {

class JitNames {
 public:
  JitNames(SourceContext& context, const NamingOptions& options, NameTables& tables)
      : context_(context), options_(options), tables_(tables) {}

  JitSources& sources(ProcessLife& life);
  // A fork's child runs what its parent had written when it was made; in shared memory also what
  // the parent writes later.
  std::optional<JitAnswer> timed(ProcessLife& life, const MappedRange& range, uint64_t address,
                                 uint64_t time, NoBody& none, AddressRange& reach);
  std::optional<JitAnswer> untimed(ProcessLife& life, const MappedRange& range, uint64_t address,
                                   AddressRange& reach);
  // The address that the question asks for, of the body that was found.
  Resolution name(Question& question, JitAnswer& answer);
  // Why neither timed() nor untimed() knows.
  NoName why_not(Question& question);
  // Where perf puts what lies in memory that no file backs: what tools that read perf script's
  // output know as JIT code.
  static std::string map_dso(const ProcessLife& life);
  static constexpr std::string_view kDso = "[jit]";

 private:
  bool is_wasm_jump_table(const Question& question);
  // What a dump says of lines and inlining at the address.
  struct Scopes {
    const CodeScopes* scopes = nullptr;
    ScopeChain chain;
  };
  Scopes scopes_of(Question& question, const JitAnswer& answer) const;
  MadeName make(const Question& question, JitAnswer& answer, const Scopes& scopes);
  void add_candidates(const ProcessLife& life, const JitAnswer& answer, Frame& frame) const;
  void add_line(const Question& question, const JitAnswer& answer, const Scopes& scopes,
                Frame& frame) const;
  uint32_t unfolded(Runtime runtime, std::span<const std::string_view> parts, FrameId outer);
  uint32_t inlined(const JitAnswer& answer, const Scopes& scopes, FrameId outer);

  SourceContext& context_;
  const NamingOptions& options_;
  NameTables& tables_;
  MadeNames made_;
  // What was inlined, by dump, body, innermost scope and the body's frame.
  std::map<std::tuple<const void*, BodyId, uint32_t, FrameId>, uint32_t> inlined_;
};

// Bodies that a jitdump says were alive then.
class TimedNames : public SourceOfNames {
 public:
  explicit TimedNames(JitNames& jit) : jit_(jit) {}
  std::optional<Resolution> answer(Question& question) override;

 private:
  JitNames& jit_;
};

// Perf maps, and dumps whose times mean nothing. The rule of 2015: executable memory that is no
// readable ELF file belongs to the JIT sources.
class UntimedNames : public SourceOfNames {
 public:
  explicit UntimedNames(JitNames& jit) : jit_(jit) {}
  std::optional<Resolution> answer(Question& question) override;

 private:
  JitNames& jit_;
};

}  // namespace jitscope
