// PeNames: what the PE image at an address calls it: ReadyToRun methods (.NET), COFF symbols and
// exports (Wine), else where its function begins. What lies in a PE image is never called JIT code,
// but where a perf map has a line of an image that knows of no function.
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
  Resolution without_name(Question& question, const PePlace& place, NoName why);

 private:
  [[nodiscard]] Frame frame_of(const PePlace& place, PeName name) const;

  PeImages& images_;
  SourceContext& context_;
  const NamingOptions& options_;
  NameTables& tables_;
  MadeNames made_;
};

// Images that know of no function, when nothing else named them either.
class PeWithoutNames : public SourceOfNames {
 public:
  PeWithoutNames(PeImages& images, PeNames& names) : images_(images), names_(names) {}
  std::optional<Resolution> answer(Question& question) override;

 private:
  PeImages& images_;
  PeNames& names_;
};

}  // namespace jitscope
