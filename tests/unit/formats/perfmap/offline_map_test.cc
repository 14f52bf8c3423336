#include "formats/perfmap/offline_map.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace jitscope {
namespace {

constexpr const char* kGuid = "026d4d21b3ee3d93843ff7a964235822";

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
      "# guid: {026D4D21-B3EE-3D93-843F-F7A964235822}\n# base: rva\n# guid\n"
      "# time-stamp: 0x5F3C0D12\n");
  ASSERT_TRUE(map) << to_string(map.error());
  EXPECT_EQ((*map)->identity().build_id, "6f3cab");
  EXPECT_EQ((*map)->identity().size, 4096U);
  EXPECT_EQ((*map)->identity().guids, std::vector<std::string>{kGuid});
  EXPECT_EQ((*map)->identity().time_stamp, 0x5f3c0d12U);
  EXPECT_EQ((*map)->base(), OfflineMapBase::rva);
  EXPECT_TRUE((*map)->base_is_declared());
  EXPECT_EQ((*read_map("# base: rva\n10 2 f\n", OfflineMapBase::file))->base(),
            OfflineMapBase::file);
}

TEST(OfflineMap, CrossgenMapsHaveRvasAndASignature) {
  const auto map = read_map(
      "FFFFFFFF 00 026D4D21B3EE3D93843FF7A964235822\nFFFFFFFE 00 1\nFFFFFFFD 00 2\n"
      "FFFFFFFC 00 3\nFFFFFFFB 00 1\n"
      "00001010 2F [System.Private.CoreLib]System.Foo::Bar(int32)\n");
  ASSERT_TRUE(map) << to_string(map.error());
  EXPECT_EQ((*map)->base(), OfflineMapBase::rva);
  EXPECT_TRUE((*map)->base_is_declared());
  EXPECT_EQ((*map)->identity().signature, kGuid);
  EXPECT_TRUE((*map)->identity().guids.empty());
  EXPECT_EQ((*map)->identity().system, "Linux");
  EXPECT_EQ((*map)->identity().architecture, "X64");
  EXPECT_EQ((*map)->identity().abi, "Default");
  EXPECT_EQ((*map)->index().entries(), 1U);
}

TEST(OfflineMap, ValuesOfACrossgenHeader) {
  const auto system_of = [](std::string_view value) -> std::optional<std::string> {
    const auto map = read_map(fmt::format("FFFFFFFE 00 1\nFFFFFFFD 00 {}\n10 2 f\n", value));
    EXPECT_TRUE(map) << value;
    return map ? (*map)->identity().system : std::nullopt;
  };
  EXPECT_EQ(system_of("1"), "Windows");
  EXPECT_EQ(system_of("linux"), "Linux");  // as early maps have it
  EXPECT_EQ(system_of("0"), std::nullopt);
  EXPECT_EQ(system_of("Unknown"), std::nullopt);
  EXPECT_EQ(system_of("77"), "77");  // not known here: of no image that is
  EXPECT_EQ(system_of("99999999999999999999"), "99999999999999999999");
  EXPECT_EQ(system_of(std::string(500, 'x')), std::string(32, 'x'));
  // Without a version these are lines like any other.
  const auto plain = read_map("FFFFFFFD 00 1\nFFFFFFFC 00 arm\n10 2 f\n");
  ASSERT_TRUE(plain);
  EXPECT_EQ((*plain)->identity().system, std::nullopt);
  EXPECT_EQ((*plain)->identity().architecture, std::nullopt);
  EXPECT_FALSE((*plain)->base_is_declared());
  for (const char* wrong : {"FFFFFFFE 00 1\nFFFFFFFD 00 1\nFFFFFFFD 00 2\n",
                            "FFFFFFFE 00 1\nFFFFFFFC 00 X64\nFFFFFFFC 00 arm64\n",
                            "FFFFFFFF 00 026D4D21B3EE3D93843FF7A964235822\n"
                            "FFFFFFFF 00 126D4D21B3EE3D93843FF7A964235822\n"}) {
    const auto map = read_map(wrong);
    ASSERT_FALSE(map) << wrong;
    EXPECT_EQ(map.error().kind, ErrorKind::damaged);
  }
}

TEST(OfflineMap, PartsOfSingleFilePrograms) {
  const auto path = *parse_offline_map_option("m=/srv/app!Core.dll");
  EXPECT_TRUE(path.names_part("/srv/app", "Core.dll"));
  EXPECT_FALSE(path.names_part("/opt/app", "Core.dll"));
  EXPECT_FALSE(path.names_part("/srv/app", "Other.dll"));
  const auto host = *parse_offline_map_option("m=app!Core.dll");
  EXPECT_TRUE(host.names_part("/opt/app", "Core.dll"));
  EXPECT_FALSE(host.names_part("/opt/other", "Core.dll"));
  const auto name = *parse_offline_map_option("m=Core.dll");
  EXPECT_TRUE(name.names_part("/opt/app", "Core.dll"));
  EXPECT_FALSE(name.names_part("/opt/Core.dll", "app"));
}

TEST(OfflineMap, Starts) {
  const auto starts = [](std::string_view text) {
    std::vector<uint64_t> out;
    const auto map = read_map(text);
    EXPECT_TRUE(map);
    (*map)->for_each_start([&](uint64_t start) {
      out.push_back(start);
      return out.size() < 3;
    });
    return out;
  };
  EXPECT_EQ(starts("20 10 b\n0 10 a\n20 10 again\n"), (std::vector<uint64_t>{0, 0x20}));
  EXPECT_EQ(starts("1 0 marker\n10 1 a\n30 1 c\n20 1 b\n40 1 d\n"),
            (std::vector<uint64_t>{0x10, 0x20, 0x30}));
  EXPECT_TRUE(starts("").empty());
}

TEST(OfflineMap, AnIdentityThatCannotBeTrusted) {
  for (const char* text :
       {"# build-id: xyz\n", "# build-id:\n", "# build-id: abc\n", "# size: many\n",
        "# time-stamp: today\n", "# guid: 12-34\n", "# base: up\n", "# size: 1\n# size: 2\n",
        "# build-id: aa\n# build-id: ab\n"}) {
    Diagnostics diagnostics;
    const auto map = read_map(text);
    ASSERT_FALSE(map) << text;
    EXPECT_EQ(map.error().kind, ErrorKind::damaged);
  }
  EXPECT_TRUE(read_map("# size: 16\n# size: 0x10\n"));
}

TEST(OfflineMap, WrongImagesAreFoundOut) {
  const MappedImageIdentity nothing;
  const MappedImageIdentity map{.build_id = "aa", .size = 100};
  EXPECT_FALSE(identity_conflict(nothing, map));
  EXPECT_FALSE(identity_conflict(map, nothing));
  EXPECT_FALSE(agrees_in_something(map, nothing));
  EXPECT_FALSE(identity_conflict(map, {.build_id = "aa", .guids = {"00"}, .size = 100}));
  EXPECT_TRUE(agrees_in_something(map, {.build_id = "aa", .guids = {"00"}}));
  EXPECT_EQ(identity_conflict(map, {.build_id = "bb", .size = 100}),
            "made for build-id aa, the image has bb");
  EXPECT_EQ(identity_conflict(map, {.build_id = "aa", .size = 99}),
            "made for an image of 100 bytes, it has 99");
  EXPECT_FALSE(agrees_in_something(map, {.build_id = "aa", .size = 99}));
  // An image may have several guids, and must have all of the map's.
  EXPECT_FALSE(identity_conflict({.guids = {"01"}}, {.guids = {"02", "01"}}));
  EXPECT_FALSE(identity_conflict({.guids = {"01"}}, {}));
  EXPECT_EQ(identity_conflict({.guids = {"01", "03"}}, {.guids = {"02", "01"}}),
            "made for guid 03, the image has 02, 01");
  EXPECT_TRUE(agrees_in_something({.guids = {"01"}}, {.guids = {"02", "01"}}));
  EXPECT_EQ(identity_conflict({.signature = "01"}, {.signature = "02"}),
            "made for signature 01, the image has 02");
  EXPECT_EQ(identity_conflict({.time_stamp = 16}, {.time_stamp = 17}),
            "made for time stamp 0x10, the image has 0x11");
  EXPECT_EQ(identity_conflict({.system = "Windows"}, {.system = "Linux"}),
            "made for Windows, the image is for Linux");
  EXPECT_EQ(identity_conflict({.architecture = "ARM64"}, {.architecture = "X64"}),
            "made for ARM64, the image is for X64");
  EXPECT_EQ(identity_conflict({.abi = "Armel"}, {.abi = "Default"}),
            "made for the ABI Armel, the image is for Default");
}

TEST(OfflineMap, Guids) {
  EXPECT_EQ(normal_guid("026D4D21B3EE3D93843FF7A964235822"), "026d4d21b3ee3d93843ff7a964235822");
  EXPECT_EQ(normal_guid("026d4d21-b3ee-3d93-843f-f7a964235822"),
            "026d4d21b3ee3d93843ff7a964235822");
  EXPECT_FALSE(normal_guid(""));
  EXPECT_FALSE(normal_guid("{}"));
  EXPECT_FALSE(normal_guid("026d4d21-b3ee-3d93-843f-f7a96423582"));
  EXPECT_FALSE(normal_guid("026d4d21-b3ee-3d93-843f-f7a96423582g"));
  EXPECT_EQ(guid_of_file_name("/x/Core.ni.{026D4D21-B3EE-3D93-843F-F7A964235822}.map"), kGuid);
  EXPECT_FALSE(guid_of_file_name("/{026D4D21-B3EE-3D93-843F-F7A964235822}/Core.map"));
  EXPECT_FALSE(guid_of_file_name("}026D4D21B3EE3D93843FF7A964235822{"));
  EXPECT_FALSE(guid_of_file_name("{.map"));
}

}  // namespace
}  // namespace jitscope
