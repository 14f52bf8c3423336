// CopiedNames: memory that took the place of a file's code: a copy of it (on large pages), or a
// JIT's code. The file names it where the bytes are still the file's.
#pragma once

#include "naming/elf_names.h"
#include "naming/text_compare.h"

namespace jitscope {

class CopiedNames : public SourceOfNames {
 public:
  CopiedNames(ElfNames& elf, SourceContext& context, const NamingOptions& options,
              NameTables& tables)
      : elf_(elf),
        context_(context),
        options_(options),
        tables_(tables),
        compare_(context.search, context.files, options) {}

  std::optional<Resolution> answer(Question& question) override;

 private:
  ElfNames& elf_;
  SourceContext& context_;
  const NamingOptions& options_;
  NameTables& tables_;
  TextCompare compare_;
};

}  // namespace jitscope
