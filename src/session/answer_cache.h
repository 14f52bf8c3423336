// AnswerCache: what is known about the addresses of one process (or of the kernel), by address and
// by the code they lie in.
#pragma once

#include "replay/processes.h"
#include "session/address_cache.h"
#include "session/code_spans.h"

namespace jitscope {

struct AnswerCache : LifeData {
  AddressCache exact;    // where code was interrupted
  AddressCache callers;  // return addresses
  CodeSpans spans;

  void keep_for(uint32_t generation) {
    exact.keep_for(generation);
    callers.keep_for(generation);
    spans.keep_for(generation);
  }
};

}  // namespace jitscope
