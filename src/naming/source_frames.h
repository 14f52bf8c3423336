// Lines and inlined functions of a native frame, from DWARF, as its file tells them.
#pragma once

#include <functional>
#include <vector>

#include "naming/jit_sources.h"
#include "naming/name_tables.h"
#include "replay/naming_options.h"
#include "symbolize/elf_image.h"

namespace jitscope {

// `frames` are asked for while there is time left. Fills in the frame's file and line, and the
// location's inlined functions where they are wanted.
void add_source_frames(SourceContext& context, const NamingOptions& options, NameTables& tables,
                       const std::function<std::vector<SourceFrame>()>& frames, Frame& frame,
                       Location& location);

}  // namespace jitscope
