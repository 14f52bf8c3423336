// AnswerCache: what is known about the addresses of one process (or of the kernel), by address and
// by the code they lie in.
#pragma once

#include "profile/address_cache.h"
#include "profile/code_spans.h"

namespace jitscope {

struct AnswerCache {
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
