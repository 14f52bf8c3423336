// The jitdump fuzz target over its seeds.
#include <gtest/gtest.h>

#include "fuzz/jitdump_check.h"
#include "unit/corpus.h"

namespace jitscope {
namespace {

TEST(JitdumpCorpus, HoldsUpToDamage) {
  EXPECT_GE(test::replay_corpus("jitdump", fuzz::check_jitdump, 96), 13U);
}

}  // namespace
}  // namespace jitscope
