// What V8 writes, built here as Node 20 was seen to write it, and by a real node where there is
// one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "dump_builder.h"

namespace jitscope {
namespace {

using test::DumpBuilder;
using test::KeptLine;

constexpr uint32_t kV8Pad = 0xdeadbeef;

TEST(JitdumpV8, LineAddressesAreTooHigh) {
  DumpBuilder builder;
  builder.header(40, kV8Pad);
  builder.lines(1, 0x1000, 2).line(0x1040, 1, "node:path").line(0x1044, 2, "node:path").end();
  builder.load(2, 0x1000, "anything", "code");
  // Not V8's habit: an entry before code + 0x40.
  builder.lines(3, 0x2000, 1).line(0x2001, 1, "node:path").end().load(4, 0x2000, "JS:*f", "code");
  builder.load(5, 0x3000, "JS:*without lines", "code");
  const auto dump = test::read_dump(builder.bytes());
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->loads[0].lines[0].address, 0x1040U);
  EXPECT_EQ(dump->loads[0].bias, 0x40U);
  EXPECT_EQ(dump->loads[1].bias, 0U);
  EXPECT_EQ(dump->loads[2].bias, 0U);
}

TEST(JitdumpV8, OnlyV8IsCorrected) {
  DumpBuilder builder;
  builder.header();
  const std::string code(0x100, 'c');
  builder.lines(1, 0x1000, 1).line(0x1040, 1, "a").end().load(2, 0x1000, "plain", code);
  builder.lines(3, 0x2000, 1).line(0x2040, 1, "a").end().load(4, 0x2000, "LazyCompile:*f", code);
  const auto dump = test::read_dump(builder.bytes());
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->loads[0].bias, 0U);
  EXPECT_EQ(dump->loads[1].bias, 0x40U);
}

// The name of the script is as long as it should be, but its bytes are whatever malloc left there.
TEST(JitdumpV8, NamesFromFreedMemory) {
  const std::string garbage("\x88;\x02\0\0\0\0\0\xd1n\x03\xe5", 12);
  const std::string other("\x01\0\0\0xyz", 7);
  DumpBuilder builder;
  builder.header(40, kV8Pad);
  builder.lines(1, 0x1000, 4).line(0x1040, 1, garbage).line(0x1042, 2, "node:path");
  builder.line(0x1043, 3, other).line(0x1044, 4, garbage).text(std::string(6, '\0')).end();
  builder.load(2, 0x1000, "JS:*f /tmp/jd/x.js:1:11", "code");
  builder.load(3, 0x2000, "JS:^g node:fs:1:2", "code");
  const auto dump = test::read_dump(builder.bytes());
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->loads[0].lines, (std::vector<KeptLine>{{0x1040, 1, "/tmp/jd/x.js"},
                                                         {0x1042, 2, "node:path"},
                                                         {0x1043, 3, ""},
                                                         {0x1044, 4, "/tmp/jd/x.js"}}));
  EXPECT_EQ(dump->loads[0].bias, 0x40U);
  EXPECT_EQ(dump->damaged("jitdump line table with damaged entries"), 1U);
  EXPECT_EQ(dump->loads[1].name, "JS:^g node:fs:1:2");
}

TEST(JitdumpV8, EntriesFarFromTheCodeAreDropped) {
  DumpBuilder builder;
  builder.header();
  builder.lines(1, 0x1000, 3).line(0x1000, 1, "a").line(0x9000, 2, "b").line(0x1002, 3, "c").end();
  builder.load(2, 0x1000, "f", "code");
  const auto dump = test::read_dump(builder.bytes());
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->loads[0].lines, (std::vector<KeptLine>{{0x1000, 1, "a"}, {0x1002, 3, "c"}}));
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "jitdump-v8-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(JitdumpV8, RealNode) {
  if (std::system("command -v node >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs node";
  const TemporaryDirectory directory;
  const std::string script = (directory.path() / "a-script-with-a-long-name.js").string();
  std::ofstream(script) << "function hot(n) { let s = 0;\n"
                           "  for (let i = 0; i < n; i++)\n"
                           "    s += i % 7;\n"
                           "  return s; }\n"
                           "let k = 0;\n"
                           "for (let j = 0; j < 3000; j++) k += hot(3000);\n"
                           "console.log(k);\n";
  const std::string command =
      "cd '" + directory.path().string() +
      "' && timeout 60 node --perf-prof --interpreted-frames-native-stack '" + script +
      "' >/dev/null 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::string file;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    if (entry.path().extension() == ".dump") file = entry.path().string();
  }
  ASSERT_NE(file, "") << "node wrote no dump";
  auto source = open_byte_source(file);
  ASSERT_TRUE(source);
  const auto dump = test::read_dump(std::move(*source));
  ASSERT_TRUE(dump) << to_string(dump.error());
  EXPECT_EQ(dump->header.pad, kV8Pad);

  size_t optimised = 0;
  size_t tables = 0;
  for (const auto& load : dump->loads) {
    EXPECT_EQ(load.code.size(), load.load.size);
    EXPECT_FALSE(load.name.empty());
    if (load.lines.empty()) continue;
    ++tables;
    EXPECT_EQ(load.bias, 0x40U) << load.name;
    if (load.name.find("hot ") == std::string::npos ||
        load.name.find(script) == std::string::npos) {
      continue;
    }
    ++optimised;
    for (const KeptLine& line : load.lines) {
      EXPECT_GE(line.address, load.load.address + load.bias);
      EXPECT_LE(line.address, load.load.address + load.load.size + load.bias);
      EXPECT_GE(line.line, 1U);
      EXPECT_LE(line.line, 4U) << "of a function of four lines";
      EXPECT_TRUE(line.file == script || line.file.empty()) << line.file;
    }
    EXPECT_EQ(load.lines.back().file, script);
  }
  EXPECT_GT(tables, 10U);
  EXPECT_GE(optimised, 1U);
}

}  // namespace
}  // namespace jitscope
