#include "naming/copied_names.h"

#include <utility>

namespace jitscope {

std::optional<Resolution> CopiedNames::answer(Question& question) {
  const MappedRange& range = question.range;
  if (!question.in_memory() || range.under == kNoFile || options_.jit_only) return std::nullopt;
  MappedRange file = range;
  file.file = range.under;
  file.page_offset = range.start + range.under_bias;
  file.memory = false;
  Question below(question.life, file, context_.files.info(file.file), question.query,
                 question.lookup);
  const uint64_t page = question.lookup & ~(TextCompare::kPage - 1);
  question.reach.narrow(page, page + TextCompare::kPage - 1);
  below.reach = question.reach;
  Resolution out;
  const bool named = elf_.name(below, out);
  question.reach = below.reach;
  if (!named) return std::nullopt;
  const TextCompare::Verdict verdict = compare_.page(question.life, range, question.lookup);
  if (verdict == TextCompare::Verdict::differs) return std::nullopt;
  if (verdict == TextCompare::Verdict::same) return out;
  Frame frame = tables_.frames()[out.location.frame];
  frame.ambiguous = true;
  frame.candidates = frame.method + " | code written over it";
  frame.no_name = NoName::copied_text;
  out.location.frame = tables_.frames().number(std::move(frame));
  return out;
}

}  // namespace jitscope
