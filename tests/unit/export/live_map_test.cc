// A perf map that is kept current, from a source of made-up bodies.
#include "export/live_map.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/scratch_folder.h"

namespace jitscope {
namespace {

class FakeSource : public CodeSource {
 public:
  Result<Snapshot> read() override { return snapshot; }
  Result<std::vector<BodyDetail>> details(std::span<const CodeBody* const> bodies) override {
    asked += bodies.size();
    std::vector<BodyDetail> out(bodies.size());
    for (size_t i = 0; i < bodies.size(); ++i) {
      if (bodies[i]->address == 0x1000) out[i].scopes = scopes;
    }
    return out;
  }
  [[nodiscard]] SourceKind kind() const override { return which; }
  [[nodiscard]] std::string describe() const override { return "fake"; }
  [[nodiscard]] bool code_is_fixed() const override { return true; }

  void put(uint64_t address, uint64_t size, uint64_t version, std::string type,
           std::string function) {
    CodeBody body;
    body.address = address;
    body.size = size;
    body.version = version;
    auto name = std::make_shared<MethodName>();
    name->raw = type + "#" + function;
    name->type = std::move(type);
    name->function = std::move(function);
    body.name = std::move(name);
    body.tier = Tier::c2;
    snapshot.bodies.push_back(std::move(body));
  }

  Snapshot snapshot;
  SourceKind which = SourceKind::hotspot_memory;
  std::shared_ptr<const CodeScopes> scopes;
  size_t asked = 0;
};

TEST(LiveMap, KeepsWhatIsGoneUntilSomethingLiesThere) {
  FakeSource source;
  source.put(0x1000, 0x100, 1, "p.A", "a");
  source.put(0x2000, 0x100, 2, "p.B", "b");
  LiveMap map({});
  ASSERT_TRUE(map.update(source).value());
  EXPECT_EQ(map.text(), "1000 100 p.A::a\n2000 100 p.B::b\n");
  EXPECT_FALSE(map.update(source).value());

  source.snapshot.bodies.erase(source.snapshot.bodies.begin());
  EXPECT_FALSE(map.update(source).value());
  EXPECT_EQ(map.lines(), 2U);

  source.put(0x10ff, 0x10, 3, "p.C", "c");
  EXPECT_TRUE(map.update(source).value());
  EXPECT_EQ(map.text(), "10ff 10 p.C::c\n2000 100 p.B::b\n");
  // The same place, another version.
  source.snapshot.bodies.clear();
  source.put(0x2000, 0x100, 4, "p.D", "d");
  EXPECT_TRUE(map.update(source).value());
  EXPECT_EQ(map.text(), "10ff 10 p.C::c\n2000 100 p.D::d\n");
  EXPECT_EQ(source.asked, 0U);  // nobody wanted ranges
}

TEST(LiveMap, UnfoldsWhatIsNew) {
  FakeSource source;
  auto scopes = std::make_shared<CodeScopes>();
  scopes->methods = {{"p.A.a()", ""}, {"p.B.b()", ""}};
  scopes->scopes = {{CodeScopes::kNone, 0, 1, 10}, {0, 1, 3, 21}};
  scopes->ranges = {{0x10, 0x20, 1, false}};
  source.scopes = scopes;
  source.put(0x1000, 0x20, 1, "p.A", "a");
  source.put(0x3000, 0x20, 2, "p.C", "c");
  LiveMapOptions options;
  options.unfold = Unfold::all;
  LiveMap map(options);
  ASSERT_TRUE(map.update(source).value());
  EXPECT_EQ(map.text(), "1000 10 p.A::a\n1010 10 p.A::a->p.B::b\n3000 20 p.C::c\n");
  EXPECT_EQ(map.without_ranges(), 1U);
  EXPECT_EQ(source.asked, 2U);
  ASSERT_FALSE(map.update(source).value());
  EXPECT_EQ(source.asked, 2U);
}

TEST(LiveMap, OtherRuntimesKeepTheirSpelling) {
  FakeSource source;
  source.which = SourceKind::perf_map;
  source.put(0x1000, 0x20, 1, "p.A", "a\nb");
  LiveMapOptions options;
  options.unfold = Unfold::all;
  LiveMap map(options);
  ASSERT_TRUE(map.update(source).value());
  EXPECT_EQ(map.text(), "1000 20 p.A#a b\n");
}

std::string content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

class ReplaceFileTest : public test::ScratchFolderTest {};

TEST_F(ReplaceFileTest, RegularFilesOfOurOwn) {
  const std::string path = folder_ + "/perf-1.map";
  ASSERT_TRUE(replace_file(path, "one\n", false));
  EXPECT_EQ(content(path), "one\n");
  ASSERT_TRUE(replace_file(path, "two\n", false));
  EXPECT_EQ(content(path), "two\n");
  struct stat status = {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0644U);

  const std::string link = folder_ + "/link";
  ASSERT_EQ(::symlink(path.c_str(), link.c_str()), 0);
  EXPECT_FALSE(replace_file(link, "three\n", true));
  EXPECT_FALSE(replace_file(folder_, "three\n", true));
  EXPECT_FALSE(replace_file(folder_ + "/none/x", "three\n", true));
  EXPECT_EQ(content(path), "two\n");
  // Nothing is left beside it.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
}

}  // namespace
}  // namespace jitscope
