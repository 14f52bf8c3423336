// ElfNames: symbols of the ELF file that is mapped at an address, with what was inlined there when
// that is asked for.
#pragma once

#include "naming/jit_sources.h"
#include "naming/name_tables.h"
#include "naming/question.h"
#include "replay/naming_options.h"

namespace jitscope {

class ElfNames : public SourceOfNames {
 public:
  ElfNames(SourceContext& context, const NamingOptions& options, NameTables& tables)
      : context_(context), options_(options), tables_(tables) {}

  std::optional<Resolution> answer(Question& question) override;
  // Fills in the location; false, with Question::why, when no symbol is known.
  bool name(Question& question, Resolution& out);

 private:
  void add_source(const ElfImage& image, uint64_t address, Frame& frame, Location& location);

  SourceContext& context_;
  const NamingOptions& options_;
  NameTables& tables_;
  MadeNames made_;
};

}  // namespace jitscope
