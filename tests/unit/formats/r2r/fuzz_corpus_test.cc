// The seeds of the fuzz targets for .NET images, and damaged copies of them.
#include <gtest/gtest.h>

#include "fuzz/metadata_check.h"
#include "fuzz/r2r_check.h"
#include "unit/corpus.h"

namespace jitscope {
namespace {

TEST(FuzzCorpus, Metadata) {
  EXPECT_GE(test::replay_corpus("metadata", fuzz::check_metadata), 4U);
}

TEST(FuzzCorpus, R2r) {
  EXPECT_GE(test::replay_corpus("r2r", fuzz::check_r2r), 6U);
}

}  // namespace
}  // namespace jitscope
