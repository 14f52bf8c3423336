// inject: rewrites a recording so that unmodified perf report, script and annotate name JIT frames.
//
// By demand: the recording is read in the order of time with the same resolver as `jitscope
// script`; before a sample that needs a body where perf would see something else, a MMAP2 record is
// written that maps the body's place in a code image over its range. So what perf shows is what
// jitscope shows, whatever mmap, mprotect, munmap, fork or a later body did in between, and no rule
// about times has to be had twice. Stacks that perf will unwind itself (PERF_SAMPLE_STACK_USER) are
// scanned for words that may be return addresses into bodies; those are mapped too, with unwind
// tables.
//
// The images (one for each process whose code is named; more where perf unwinds and addresses were
// used again) lie in a folder beside the output; nothing else is written. Records keep their bytes
// and come in their order of time, without compression; the mappings that are added stand together
// at the beginning of their round, from where perf sorts them by their times. One kind of record is
// changed: of a mapping of JIT memory that only repeats what is mapped already, with something new
// (memory that grew), what would hide code of ours is left out, as perf inject does with all such
// mappings.
//
// Recordings of hardware traces (AUX area) are refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/meter.h"
#include "base/result.h"
#include "replay/naming_options.h"

namespace jitscope {

struct InjectOptions {
  NamingOptions naming;
  std::string output;  // "out.data"; must not be the input
  std::string folder;  // of images; "": output + ".images". Images are mapped by absolute path
  unsigned dwarf = 5;
  std::string source_folder;  // where relative files of line tables lie; "": here
  bool force = false;         // replace an output that is there, and the images of its folder
  unsigned cores = 1;         // SessionOptions::cores
  Meter* meter = nullptr;     // SessionOptions::meter
  bool all = false;  // images hold every body of their jitdumps, not only those that were needed
};

struct InjectSummary {
  struct Image {
    std::string path;
    uint64_t bodies = 0;
    uint64_t with_bytes = 0;
    uint64_t file_bytes = 0;
  };
  std::vector<Image> images;
  uint64_t samples = 0;
  uint64_t jit_samples = 0;        // whose ip lies in JIT code that got a name
  uint64_t nameless = 0;           // whose ip lies in JIT memory and got none
  uint64_t mappings = 0;           // MMAP2 records written
  uint64_t records = 0;            // of the input
  std::vector<std::string> notes;  // what could not be done, with the reason
};

// Errors: usage (output is the input, or is there), not_found, damaged, not_possible.
Result<InjectSummary> inject(const std::string& input, const InjectOptions& options);

}  // namespace jitscope
