// The fuzz target of code images over its seeds.
#include <gtest/gtest.h>

#include "fuzz/code_image_check.h"
#include "unit/corpus.h"

namespace jitscope {
namespace {

TEST(FuzzCorpus, CodeImage) {
  EXPECT_GE(test::replay_corpus("code_image", fuzz::check_code_image, 64), 6u);
}

}  // namespace
}  // namespace jitscope
