#include "formats/perfmap/image_loads.h"

#include <gtest/gtest.h>

namespace jitscope {
namespace {

constexpr std::string_view kGuid = "026d4d21b3ee3d93843ff7a964235822";

TEST(ImageLoads, FormsOfAllVersions) {
  // .NET Core 2.0, 3.1, .NET 8, and images without native code.
  EXPECT_EQ(*parse_image_load("ImageLoad;/opt/a.dll;{026D4D21-B3EE-3D93-843F-F7A964235822};"),
            (ImageLoad{"/opt/a.dll", std::string(kGuid), 0}));
  EXPECT_EQ(parse_image_load(
                "ImageLoad;/opt/a.dll;{026D4D21-B3EE-3D93-843F-F7A964235822};00007FF3C44F0000;")
                ->base,
            0x7ff3c44f0000U);
  EXPECT_EQ(parse_image_load(
                "ImageLoad;/opt/a.dll;{026d4d21-b3ee-3d93-843f-f7a964235822};0x55ab74010000;\r")
                ->base,
            0x55ab74010000U);
  for (const char* none :
       {"(nil)", "0000000000000000", "0x", "-5", "55ab74010000 ", "11112222333344445"}) {
    EXPECT_EQ(parse_image_load("ImageLoad;/a;{026d4d21-b3ee-3d93-843f-f7a964235822};" +
                               std::string(none) + ";")
                  ->base,
              0U)
        << none;
  }
}

TEST(ImageLoads, PathsHoldAnything) {
  EXPECT_EQ(
      parse_image_load("ImageLoad;/a;{b};c d;{026d4d21-b3ee-3d93-843f-f7a964235822};0x10;")->path,
      "/a;{b};c d");
}

TEST(ImageLoads, OtherLinesAreNone) {
  for (const char* line :
       {"", "ImageLoad", "ImageLoad;", "ImageLoad;;{026d4d21-b3ee-3d93-843f-f7a964235822};",
        "ImageLoad;/a;{026d};0x1;", "ImageLoad;/a;{026d4d21-b3ee-3d93-843f-f7a964235822}",
        "ImageLoad;/a;026d4d21b3ee3d93843ff7a964235822;",
        "imageload;/a;{026d4d21-b3ee-3d93-843f-f7a964235822};", "CommandStart;dotnet a.dll;"}) {
    EXPECT_FALSE(parse_image_load(line)) << line;
  }
}

TEST(ImageLoads, ATextOfMany) {
  const std::string line = "ImageLoad;/a.dll;{026d4d21-b3ee-3d93-843f-f7a964235822};0x10;\n";
  EXPECT_EQ(parse_image_loads("odd\n\n" + line + line + "ImageLoad;/b").size(), 2U);
  EXPECT_EQ(parse_image_loads(line + line + line, 2).size(), 2U);
  EXPECT_TRUE(parse_image_loads("").empty());
}

}  // namespace
}  // namespace jitscope
