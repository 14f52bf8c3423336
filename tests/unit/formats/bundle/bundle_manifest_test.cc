#include "formats/bundle/bundle_manifest.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/bundle_check.h"
#include "support/bundle_builder.h"
#include "unit/corpus.h"

namespace jitscope {
namespace {

constexpr uint64_t kFileSize = 0x10000;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}
Result<BundleManifest> parse(const test::BundleBuilder& bundle, uint64_t file_size = kFileSize) {
  const std::string bytes = bundle.build();
  return BundleManifest::parse(bytes_of(bytes), file_size);
}

TEST(BundleManifest, EachVersion) {
  test::BundleBuilder bundle;
  bundle.files = {{"b/Two.dll", 0x2000, 0x400, 0x100, 1},
                  {"One.dll", 0x1000, 0x800, 0, 1},
                  {"app.deps.json", 0x3000, 0x10, 0, 3},
                  {"later", 0x3010, 1, 0, 77}};
  for (uint32_t version = 1; version <= 6; ++version) {
    bundle.major = version;
    const auto manifest = parse(bundle);
    ASSERT_TRUE(manifest) << version << to_string(manifest.error());
    EXPECT_EQ(manifest->major, version);
    EXPECT_EQ(manifest->id, "Ab3_x");
    ASSERT_EQ(manifest->entries.size(), 4U);
    EXPECT_TRUE(manifest->outside.empty());
    EXPECT_EQ(manifest->entries[0].path, "One.dll");
    EXPECT_EQ(manifest->entries[0].kind, BundleFileKind::assembly);
    EXPECT_EQ(manifest->entries[1].path, "b/Two.dll");
    EXPECT_EQ(manifest->entries[1].offset, 0x2000U);
    EXPECT_EQ(manifest->entries[1].size, 0x400U);
    EXPECT_EQ(manifest->entries[1].stored(), version == 6 ? 0x100U : 0x400U);
    EXPECT_EQ(manifest->entries[2].kind, BundleFileKind::deps_json);
    EXPECT_EQ(manifest->entries[3].kind, BundleFileKind::unknown);
  }
  for (const uint32_t version : {0U, 7U, 0xffffffffU}) {
    bundle.major = version;
    EXPECT_FALSE(parse(bundle)) << version;
  }
}

TEST(BundleManifest, EntriesByOffset) {
  test::BundleBuilder bundle;
  bundle.files = {{"one", 0x1000, 0x100},
                  {"empty", 0x1000, 0},
                  {"two", 0x1200, 0x800, 0x10},
                  {"empty too", 0x1200, 0}};
  const auto manifest = parse(bundle);
  ASSERT_TRUE(manifest);
  const auto at = [&](uint64_t offset) {
    const BundleEntry* entry = manifest->at(offset);
    return entry != nullptr ? entry->path : "nothing";
  };
  EXPECT_EQ(at(0xfff), "nothing");
  EXPECT_EQ(at(0x1000), "one");
  EXPECT_EQ(at(0x10ff), "one");
  EXPECT_EQ(at(0x1100), "nothing");
  EXPECT_EQ(at(0x1200), "two");
  EXPECT_EQ(at(0x120f), "two");
  EXPECT_EQ(at(0x1210), "nothing") << "as many bytes as are stored";
}

TEST(BundleManifest, LongPaths) {
  test::BundleBuilder bundle;
  bundle.files = {{std::string(300, 'p'), 0x1000, 1}};
  const auto manifest = parse(bundle);
  ASSERT_TRUE(manifest);
  EXPECT_EQ(manifest->entries[0].path.size(), 300U);
}

TEST(BundleManifest, EntriesOutsideOfTheFileAreReported) {
  test::BundleBuilder bundle;
  bundle.files = {
      {"good", kFileSize - 1, 1},           {"long", 0x1000, kFileSize},
      {"negative", UINT64_MAX, 2},          {"round", 0x1000, UINT64_MAX},
      {"compressed", 0x1000, 1, kFileSize}, {"large when unpacked", 0x1000, uint64_t{1} << 40U, 1}};
  const auto manifest = parse(bundle);
  ASSERT_TRUE(manifest);
  EXPECT_EQ(manifest->outside,
            (std::vector<std::string>{"long", "negative", "round", "compressed"}));
  ASSERT_EQ(manifest->entries.size(), 2U);
  EXPECT_EQ(manifest->entries[0].path, "large when unpacked");
}

TEST(BundleManifest, Damaged) {
  test::BundleBuilder bundle;
  bundle.files = {{"one", 0x1000, 0x100}, {"two", 0x1200, 0x800, 0x10}};
  const std::string good = bundle.build();
  for (size_t length = 0; length < good.size(); ++length) {
    const auto cut = BundleManifest::parse(bytes_of(good).first(length), kFileSize);
    ASSERT_FALSE(cut) << length;
    EXPECT_EQ(cut.error().kind, ErrorKind::damaged);
  }
  for (const int64_t count : {int64_t{3}, int64_t{0x7fffffff}, int64_t{0xffffffff}}) {
    bundle.count = count;
    EXPECT_FALSE(parse(bundle)) << count;
  }
  bundle.count = 0;
  EXPECT_TRUE(parse(bundle)->entries.empty());
}

TEST(BundleMarker, IsFoundAnywhere) {
  const std::string marker = test::BundleBuilder::marker(0x1234);
  ASSERT_EQ(marker.size(), kBundleMarkerReach);
  for (const size_t before : {0, 1, 7, 31, 100}) {
    const std::string bytes = std::string(before, '\x8b') + marker + "behind";
    EXPECT_EQ(find_bundle_header(bytes_of(bytes), kFileSize), 0x1234U) << before;
    EXPECT_EQ(find_bundle_header(bytes_of(bytes).first(before + marker.size() - 1), kFileSize),
              std::nullopt);
  }
  EXPECT_EQ(find_bundle_header(bytes_of(marker).subspan(1), kFileSize), std::nullopt)
      << "what stands before it is missing";
  EXPECT_EQ(find_bundle_header({}, kFileSize), std::nullopt);
}

TEST(BundleMarker, OthersThatHaveIt) {
  const std::string host = test::BundleBuilder::marker(0);
  const std::string far = test::BundleBuilder::marker(kFileSize);
  EXPECT_EQ(find_bundle_header(bytes_of(host), kFileSize), std::nullopt) << "a host, no bundle";
  EXPECT_EQ(find_bundle_header(bytes_of(far), kFileSize), std::nullopt);
  const std::string both = host + far + test::BundleBuilder::marker(0x100);
  EXPECT_EQ(find_bundle_header(bytes_of(both), kFileSize), 0x100U);
}

TEST(BundleManifest, Corpus) {
  EXPECT_GE(test::replay_corpus("bundle", fuzz::check_bundle), 4U);
}

}  // namespace
}  // namespace jitscope
