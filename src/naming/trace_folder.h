// A trace folder: what perfcollect and users of PerfView put beside a recording of .NET programs,
// so that it can be read on another machine: perf-PID.map, perfinfo-PID.map, and maps of images
// (NAME.ni.{MVID}.map of crossgen, NAME.ni.r2rmap of Crossgen2).
#pragma once

#include <string>

#include "base/result.h"
#include "replay/naming_options.h"

namespace jitscope {

// Adds what is in it to the options; what these already say of a process stays. not_found where
// nothing of it is there.
Status add_trace_folder(const std::string& folder, NamingOptions& options);

}  // namespace jitscope
