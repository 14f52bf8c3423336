// See source_frames.h.
#include "naming/source_frames.h"

#include <utility>

namespace jitscope {

void add_source_frames(SourceContext& context, const NamingOptions& options, NameTables& tables,
                       const std::function<std::vector<SourceFrame>()>& frames_of, Frame& frame,
                       Location& location) {
  std::vector<SourceFrame> frames;
  if (WorkBudget& budget = context.files.budget(); !budget.spent()) {
    const WorkBudget::Piece piece(budget);
    frames = frames_of();
  }
  std::vector<FrameId> copies;
  for (size_t i = 0; options.inlined && i + 1 < frames.size(); ++i) {
    Frame inlined = frame;
    inlined.method = frames[i].function;
    inlined.raw = frames[i].function;
    inlined.kind = FrameKind::native_inlined;
    inlined.file = frames[i].file;
    inlined.line = frames[i].line;
    copies.push_back(tables.frames().number(std::move(inlined)));
  }
  if (!copies.empty()) location.inlined = tables.inlined_number(std::move(copies));
  if (frames.empty()) return;
  // Without the inlined ones the line is that of the innermost.
  const SourceFrame& source = options.inlined ? frames.back() : frames.front();
  frame.file = source.file;
  frame.line = source.line;
}

}  // namespace jitscope
