// The seeds of the fuzz target, and damaged copies of them.
#include <gtest/gtest.h>

#include "fuzz/pattern_check.h"
#include "unit/corpus.h"

namespace jitscope {
namespace {

TEST(PatternCorpus, HoldsWhatTheFuzzTargetChecks) {
  EXPECT_GE(test::replay_corpus("pattern", fuzz::check_pattern), 8U);
}

}  // namespace
}  // namespace jitscope
