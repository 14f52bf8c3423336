// The fuzz targets of perf maps over their seeds.
#include <gtest/gtest.h>

#include "fuzz/offline_map_check.h"
#include "fuzz/perf_map_index_check.h"
#include "unit/corpus.h"

namespace jitscope {
namespace {

TEST(PerfMapCorpus, IndexAgreesWithASearch) {
  EXPECT_GE(test::replay_corpus("perf_map_index", fuzz::check_perf_map_index, 128), 6U);
  EXPECT_GE(test::replay_corpus("perf_map", fuzz::check_perf_map_index, 32), 8U);
}

TEST(PerfMapCorpus, OfflineMaps) {
  EXPECT_GE(test::replay_corpus("offline_map", fuzz::check_offline_map), 6U);
}

}  // namespace
}  // namespace jitscope
