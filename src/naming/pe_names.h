// PeNames: what the PE image at an address calls it: ReadyToRun methods (.NET), COFF symbols and
// exports (Wine), else where its function begins. What lies in a PE image is never called JIT code.
#pragma once

#include "naming/jit_sources.h"
#include "naming/name_tables.h"
#include "naming/pe_images.h"
#include "naming/question.h"
#include "replay/naming_options.h"

namespace jitscope {

class PeNames : public SourceOfNames {
 public:
  PeNames(PeImages& images, SourceContext& context, const NamingOptions& options,
          NameTables& tables)
      : images_(images), context_(context), options_(options), tables_(tables) {}

  std::optional<Resolution> answer(Question& question) override;

 private:
  [[nodiscard]] Frame frame_of(const PePlace& place, PeName name) const;
  Resolution without_name(Question& question, const PePlace& place, NoName why);

  PeImages& images_;
  SourceContext& context_;
  const NamingOptions& options_;
  NameTables& tables_;
  MadeNames made_;
};

}  // namespace jitscope
