// The fuzz targets of this layer over their seeds, so that what they check is checked everywhere.
#include <gtest/gtest.h>

#include "fuzz/live_image_check.h"
#include "fuzz/relocate_check.h"
#include "unit/corpus.h"

namespace jitscope {
namespace {

TEST(FuzzCorpus, LiveImage) {
  EXPECT_GE(test::replay_corpus("live_image", fuzz::check_live_image, 512), 4u);
}

TEST(FuzzCorpus, Relocate) {
  EXPECT_GE(test::replay_corpus("relocate", fuzz::check_relocate, 512), 15u);
}

}  // namespace
}  // namespace jitscope
