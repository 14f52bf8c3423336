#include "formats/perfmap/offline_map.h"

#include <gtest/gtest.h>

#include <string>

namespace jitscope {
namespace {

Result<std::unique_ptr<OfflineMap>> read_map(std::string_view text,
                                             std::optional<OfflineMapBase> base = std::nullopt) {
  Diagnostics diagnostics;
  const auto bytes = std::as_bytes(std::span(text));
  auto map = OfflineMap::read(memory_source(std::vector<std::byte>(bytes.begin(), bytes.end())),
                              base, diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  return map;
}

TEST(OfflineMap, Options) {
  const auto plain = parse_offline_map_option("names.map=/srv/app/Core.dll");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->file, "names.map");
  EXPECT_EQ(plain->image, "/srv/app/Core.dll");
  EXPECT_FALSE(plain->base);
  const auto odd = parse_offline_map_option("C:map=a=b:c:base=absolute");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->file, "C:map");
  EXPECT_EQ(odd->image, "a=b:c");
  EXPECT_EQ(odd->base, OfflineMapBase::absolute);
  EXPECT_EQ(parse_offline_map_option("a=b:base=rva")->base, OfflineMapBase::rva);
  EXPECT_EQ(parse_offline_map_option("a=b:base=file")->base, OfflineMapBase::file);
  for (const char* wrong :
       {"", "a", "=b", "a=", "a=b/", "a=b:base=", "a=b:base=RVA", "a=:base=rva"}) {
    const auto option = parse_offline_map_option(wrong);
    ASSERT_FALSE(option) << wrong;
    EXPECT_EQ(option.error().kind, ErrorKind::usage);
    EXPECT_NE(option.error().hint, "");
  }
}

TEST(OfflineMap, WhichImageIsMeant) {
  const auto path = *parse_offline_map_option("m=/srv/app/Core.dll");
  EXPECT_TRUE(path.names("/srv/app/Core.dll"));
  EXPECT_TRUE(path.names("/srv/app/Core.dll (deleted)"));
  EXPECT_FALSE(path.names("/srv/other/Core.dll"));
  EXPECT_FALSE(path.names("Core.dll"));
  const auto name = *parse_offline_map_option("m=Core.dll");
  EXPECT_TRUE(name.names("/srv/app/Core.dll"));
  EXPECT_TRUE(name.names("/srv/app/Core.dll (deleted)"));
  EXPECT_FALSE(name.names("/srv/app/NotCore.dll"));
  EXPECT_FALSE(name.names("/srv/Core.dll/x"));
}

TEST(OfflineMap, AddressesByBase) {
  const ImageMapping mapping{0x7f0000010000, 0x2000, 0x7f0000000000};
  const std::string_view text = "2010 20 by offset\n10010 20 by rva\n7f0000010010 20 by address\n";
  const auto name = [&](std::optional<OfflineMapBase> base) {
    const auto map = read_map(text, base);
    EXPECT_TRUE(map);
    return (*map)->at(*(*map)->key(mapping, 0x7f0000010018)).entry.value().name;
  };
  EXPECT_EQ(name(std::nullopt), "by offset");
  EXPECT_EQ(name(OfflineMapBase::file), "by offset");
  EXPECT_EQ(name(OfflineMapBase::rva), "by rva");
  EXPECT_EQ(name(OfflineMapBase::absolute), "by address");
  EXPECT_FALSE((*read_map(text, OfflineMapBase::file))->key(mapping, 0x7f000000ffff));
  EXPECT_FALSE((*read_map(text, OfflineMapBase::rva))->key(mapping, 0x7effffffffff));
  EXPECT_FALSE((*read_map(text, OfflineMapBase::file))->key({0, 2, 0}, UINT64_MAX));
}

TEST(OfflineMap, SaysWhatItIsFor) {
  const auto map = read_map(
      "# made by hand\n# Build-Id: 6F3Cab\n10 20 f\n#size:0x1000\r\n"
      "# guid: {026D4D21-B3EE-3D93-843F-F7A964235822}\n# base: rva\n# guid\n");
  ASSERT_TRUE(map) << to_string(map.error());
  EXPECT_EQ((*map)->identity().build_id, "6f3cab");
  EXPECT_EQ((*map)->identity().size, 4096U);
  EXPECT_EQ((*map)->identity().guid, "026d4d21b3ee3d93843ff7a964235822");
  EXPECT_EQ((*map)->base(), OfflineMapBase::rva);
  EXPECT_EQ((*read_map("# base: rva\n10 2 f\n", OfflineMapBase::file))->base(),
            OfflineMapBase::file);
}

TEST(OfflineMap, CrossgenMapsHaveRvasAndASignature) {
  const auto map = read_map(
      "FFFFFFFF 00 026D4D21B3EE3D93843FF7A964235822\nFFFFFFFE 00 1\nFFFFFFFD 00 1\n"
      "00001010 2F [System.Private.CoreLib]System.Foo::Bar(int32)\n");
  ASSERT_TRUE(map) << to_string(map.error());
  EXPECT_EQ((*map)->base(), OfflineMapBase::rva);
  EXPECT_EQ((*map)->identity().guid, "026d4d21b3ee3d93843ff7a964235822");
  EXPECT_EQ((*map)->index().entries(), 1U);
}

TEST(OfflineMap, AnIdentityThatCannotBeTrusted) {
  for (const char* text : {"# build-id: xyz\n", "# build-id:\n", "# build-id: abc\n",
                           "# size: many\n", "# guid: 12-34\n", "# base: up\n",
                           "# size: 1\n# size: 2\n", "# build-id: aa\n# build-id: ab\n"}) {
    Diagnostics diagnostics;
    const auto map = read_map(text);
    ASSERT_FALSE(map) << text;
    EXPECT_EQ(map.error().kind, ErrorKind::damaged);
  }
  EXPECT_TRUE(read_map("# size: 16\n# size: 0x10\n"));
}

TEST(OfflineMap, WrongImagesAreFoundOut) {
  const MappedImageIdentity nothing;
  const MappedImageIdentity map{"aa", std::nullopt, 100};
  EXPECT_FALSE(identity_conflict(nothing, map));
  EXPECT_FALSE(identity_conflict(map, nothing));
  EXPECT_FALSE(agrees_in_something(map, nothing));
  EXPECT_FALSE(identity_conflict(map, {"aa", "00", 100}));
  EXPECT_TRUE(agrees_in_something(map, {"aa", "00", std::nullopt}));
  EXPECT_EQ(identity_conflict(map, {"bb", std::nullopt, 100}),
            "made for build-id aa, the image has bb");
  EXPECT_EQ(identity_conflict(map, {"aa", std::nullopt, 99}),
            "made for an image of 100 bytes, it has 99");
  EXPECT_TRUE(identity_conflict({std::nullopt, "01", {}}, {std::nullopt, "02", {}}));
  EXPECT_FALSE(agrees_in_something(map, {"aa", std::nullopt, 99}));
}

TEST(OfflineMap, Guids) {
  EXPECT_EQ(normal_guid("026D4D21B3EE3D93843FF7A964235822"), "026d4d21b3ee3d93843ff7a964235822");
  EXPECT_EQ(normal_guid("026d4d21-b3ee-3d93-843f-f7a964235822"),
            "026d4d21b3ee3d93843ff7a964235822");
  EXPECT_FALSE(normal_guid(""));
  EXPECT_FALSE(normal_guid("{}"));
  EXPECT_FALSE(normal_guid("026d4d21-b3ee-3d93-843f-f7a96423582"));
  EXPECT_FALSE(normal_guid("026d4d21-b3ee-3d93-843f-f7a96423582g"));
}

}  // namespace
}  // namespace jitscope
