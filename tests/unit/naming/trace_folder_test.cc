#include "naming/trace_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scratch_folder.h"

namespace jitscope {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

using TraceFolder = test::ScratchFolderTest;

TEST_F(TraceFolder, WhatIsInIt) {
  for (const char* name :
       {"perf-12.map", "perf-13.map", "perf-x.map", "perf-.map", "perfinfo-12.map", "perf.data.txt",
        "Core.map", "Core.ni.{026D4D21-B3EE-3D93-843F-F7A964235822}.map", "System.Linq.ni.r2rmap",
        "Own.r2rmap", "a=b.r2rmap", "perf-99999999999.map"}) {
    write(name, "");
  }
  NamingOptions options;
  options.perf_maps[13] = "/given";
  ASSERT_TRUE(add_trace_folder(folder_, options));
  EXPECT_THAT(options.perf_maps,
              ElementsAre(Pair(12, folder_ + "/perf-12.map"), Pair(13, "/given")));
  EXPECT_THAT(options.image_loads, ElementsAre(Pair(12, folder_ + "/perfinfo-12.map")));
  EXPECT_THAT(
      options.folder_maps,
      ElementsAre("Core.dll=" + folder_ + "/Core.ni.{026D4D21-B3EE-3D93-843F-F7A964235822}.map",
                  "Own.dll=" + folder_ + "/Own.r2rmap",
                  "System.Linq.dll=" + folder_ + "/System.Linq.ni.r2rmap"));
}

TEST_F(TraceFolder, NothingInIt) {
  NamingOptions options;
  const Status none = add_trace_folder(folder_, options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
  EXPECT_FALSE(add_trace_folder(folder_ + "/missing", options));
}

}  // namespace
}  // namespace jitscope
