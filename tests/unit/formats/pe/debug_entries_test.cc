#include "formats/pe/debug_entries.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/pe_builder.h"
#include "unit/formats/pe/pe_test_image.h"

namespace jitscope {
namespace {

constexpr uint32_t kAt = 0x2000;

struct Entry {
  uint32_t type = 0;
  std::string data;
};

std::string identity() {
  std::string out;
  for (char i = 1; i <= 16; ++i) out += i;
  return out;
}
std::string rsds(const std::string& path) {
  return "RSDS" + identity() + test::LittleBytes().u32(7).bytes() + path;
}
std::string r2rm(const std::string& name) {
  return "R2RM" + identity() + test::LittleBytes().u32(1).bytes() + name;
}

std::string directory(const std::vector<Entry>& entries) {
  test::LittleBytes rows;
  std::string data;
  for (const Entry& entry : entries) {
    const uint64_t rva = kAt + 28 * entries.size() + data.size();
    rows.zeros(12).u32(entry.type).u32(entry.data.size()).u32(rva).u32(0);
    data += entry.data;
  }
  return rows.bytes() + data;
}

test::PeBuilder with_entries(const std::vector<Entry>& entries) {
  test::PeBuilder pe;
  pe.sections = {{".rdata", kAt, directory(entries), 0, 0, 0x40000040}};
  pe.directories[6] = {kAt, static_cast<uint32_t>(28 * entries.size())};
  return pe;
}

std::string text_of(const std::array<std::byte, 16>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(PeDebugEntries, OfTheDirectory) {
  const test::PeFile file(with_entries({{16, ""},
                                        {2, "NB10........................"},
                                        {2, rsds(std::string("C:\\a.pdb\0junk", 13))},
                                        {2, rsds("second.pdb")},
                                        {21, r2rm(std::string("a.ni.r2rmap\0\0\0", 14))}}));
  const PeDebugEntries entries = PeDebugEntries::parse(*file);
  ASSERT_TRUE(entries.code_view);
  EXPECT_EQ(text_of(entries.code_view->guid), identity());
  EXPECT_EQ(entries.code_view->age, 7U);
  EXPECT_EQ(entries.code_view->path, "C:\\a.pdb");
  ASSERT_TRUE(entries.perf_map);
  EXPECT_EQ(text_of(entries.perf_map->signature), identity());
  EXPECT_EQ(entries.perf_map->version, 1U);
  EXPECT_EQ(entries.perf_map->name, "a.ni.r2rmap");
  EXPECT_FALSE(entries.debug_link);
}

TEST(PeDebugEntries, ByFileOffset) {
  test::PeBuilder pe = with_entries({{2, ""}});
  pe.sections.push_back({"hidden", 0x5000, rsds("x"), 0, 0x1000, 0x40000040});
  test::overwrite(pe.sections[0].data, 16, rsds("x").size(), 4);
  test::overwrite(pe.sections[0].data, 20, 0, 4);
  test::overwrite(pe.sections[0].data, 24, 0x1000, 4);
  const test::PeFile file(pe);
  ASSERT_TRUE(PeDebugEntries::parse(*file).code_view);
  EXPECT_EQ(PeDebugEntries::parse(*file).code_view->path, "x");
}

TEST(PeDebugEntries, BuildIdOfGnuLd) {
  test::PeBuilder pe = with_entries({{2, rsds("")}});
  pe.sections[0].name = ".buildid";
  pe.directories[6] = {};
  const test::PeFile file(pe);
  ASSERT_TRUE(PeDebugEntries::parse(*file).code_view);
  EXPECT_EQ(text_of(PeDebugEntries::parse(*file).code_view->guid), identity());
}

TEST(PeDebugEntries, LinkToASplitFile) {
  test::PeBuilder pe;
  test::LittleBytes link;
  link.text("busy.dbg").zeros(4).u32(0x12345678);
  pe.sections = {{"/4", kAt, link.bytes(), 0, 0, 0x42000040}};
  pe.strings = std::string(".gnu_debuglink\0", 15);
  const test::PeFile file(pe);
  const PeDebugEntries entries = PeDebugEntries::parse(*file);
  ASSERT_TRUE(entries.debug_link);
  EXPECT_EQ(entries.debug_link->name, "busy.dbg");
  EXPECT_EQ(entries.debug_link->crc, 0x12345678U);
  for (const std::string& bytes :
       {std::string("busy.dbg"), link.bytes().substr(0, 14), std::string(8, '\0')}) {
    pe.sections[0].data = bytes;
    const test::PeFile damaged(pe);
    EXPECT_FALSE(PeDebugEntries::parse(*damaged).debug_link) << bytes.size();
  }
}

TEST(PeDebugEntries, Damaged) {
  const auto found = [](const test::PeBuilder& pe) {
    const test::PeFile file(pe);
    const PeDebugEntries entries = PeDebugEntries::parse(*file);
    return entries.code_view.has_value() || entries.perf_map.has_value();
  };
  EXPECT_FALSE(found(with_entries({{2, rsds("").substr(0, 23)}, {21, r2rm("").substr(0, 10)}})));
  EXPECT_FALSE(found(with_entries({{2, r2rm("")}, {21, rsds("")}})));
  EXPECT_FALSE(found(with_entries({})));
  test::PeBuilder pe = with_entries({{2, rsds("x")}});
  ASSERT_TRUE(found(pe));
  test::PeBuilder large = pe;
  test::overwrite(large.sections[0].data, 16, 0xffffffff, 4);
  EXPECT_FALSE(found(large));
  test::PeBuilder far = pe;
  test::overwrite(far.sections[0].data, 20, 0xfffffff0, 4);
  EXPECT_FALSE(found(far));
  pe.directories[6].size = 0x1000;
  EXPECT_FALSE(found(pe)) << "a directory that is not in the file";
}

}  // namespace
}  // namespace jitscope
