#include "formats/perfmap/perf_map_index.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "fuzz/perf_map_index_check.h"

namespace jitscope {
namespace {

std::unique_ptr<ByteSource> as_source(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return memory_source(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

std::unique_ptr<PerfMapIndex> index_of(std::string_view text) {
  Diagnostics diagnostics;
  auto index = PerfMapIndex::read(as_source(text), diagnostics);
  EXPECT_TRUE(index);
  return index ? std::move(*index) : nullptr;
}

std::string name_at(const PerfMapIndex& index, uint64_t address) {
  const auto answer = index.at(address);
  if (!answer.entry) return answer.changed ? "(changed)" : "";
  return answer.entry->name + (answer.ambiguous ? "?" : "");
}

TEST(PerfMapIndex, NamesFromStartToEnd) {
  const auto index = index_of("1000 10 first one\n0x1010 0x8 T.f(int, long)\r\n1030 8 third");
  EXPECT_EQ(index->lines(), 3U);
  EXPECT_EQ(index->entries(), 3U);
  EXPECT_EQ(name_at(*index, 0xfff), "");
  EXPECT_EQ(name_at(*index, 0x1000), "first one");
  EXPECT_EQ(name_at(*index, 0x100f), "first one");
  EXPECT_EQ(name_at(*index, 0x1010), "T.f(int, long)");
  EXPECT_EQ(name_at(*index, 0x1018), "");
  EXPECT_EQ(name_at(*index, 0x1037), "third");
  EXPECT_EQ(name_at(*index, 0x1038), "");
  EXPECT_EQ(index->at(0x1030).entry->number, 3U);
  EXPECT_EQ(name_at(*index_of(""), 0), "");
}

TEST(PerfMapIndex, TheLastLineWinsAndSaysThatItMayBeWrong) {
  const auto index = index_of("1000 40 old\n2000 8 x\n1010 10 new\n");
  EXPECT_EQ(name_at(*index, 0x1000), "old");
  EXPECT_EQ(name_at(*index, 0x1010), "new?");
  EXPECT_EQ(name_at(*index, 0x101f), "new?");
  EXPECT_EQ(name_at(*index, 0x1020), "old");
  const auto answer = index->at(0x1010);
  EXPECT_EQ(answer.candidate_count, 2U);
  ASSERT_EQ(answer.candidates.size(), 2U);
  EXPECT_EQ(answer.candidates[0].name, "new");
  EXPECT_EQ(answer.candidates[1].name, "old");
}

TEST(PerfMapIndex, TheSameNameIsNotAmbiguous) {
  const auto index = index_of("1000 10 f\n1000 10 f\n1004 2 f\n1000 10 f\n1008 10 g\n");
  EXPECT_EQ(name_at(*index, 0x1005), "f");
  EXPECT_EQ(index->at(0x1005).entry->number, 4U);
  EXPECT_EQ(index->at(0x1005).candidate_count, 1U);
  EXPECT_EQ(name_at(*index, 0x1009), "g?");
  EXPECT_EQ(name_at(*index, 0x1017), "g");
}

TEST(PerfMapIndex, ManyNamesAreCountedAndEightAreTold) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "1000 10 name" + std::to_string(i) + "\n";
  const auto answer = index_of(text)->at(0x1008);
  EXPECT_EQ(answer.entry->name, "name19");
  EXPECT_EQ(answer.candidate_count, 20U);
  ASSERT_EQ(answer.candidates.size(), PerfMapIndex::kMostCandidates);
  EXPECT_EQ(answer.candidates.front().name, "name19");
  EXPECT_EQ(answer.candidates.back().name, "name12");
}

TEST(PerfMapIndex, LargeSizesAndLongLines) {
  const std::string long_name(PerfMapParser::kLongestLine - 9, 'n');
  const std::string longer(2'500'000, 'n');
  const auto index = index_of("0 80000000 all\n1 7fffffffffff every\n800000000000 ffffff x\n10 1 " +
                              longer + "\n900000000000 1000000 y\n1000 10 " + long_name + "\n");
  EXPECT_EQ(index->lines(), 6U);
  EXPECT_EQ(index->entries(), 4U);  // without the line that would be everywhere, and the long one
  EXPECT_EQ(name_at(*index, 0x123456), "all");
  EXPECT_EQ(name_at(*index, 0x123456789), "");
  EXPECT_EQ(name_at(*index, 0x800000fffffe), "x");
  EXPECT_EQ(name_at(*index, 0x900000ffffff), "y");
  EXPECT_EQ(name_at(*index, 0x1008), long_name + "?");
}

TEST(PerfMapIndex, BadLinesAreCounted) {
  Diagnostics diagnostics;
  const auto index = PerfMapIndex::read(
      as_source("junk\n10\n10 q x\n10 4\nffffffffffffffff 2 x\n10 0 empty\n\n# words\n20 4 good\n"),
      diagnostics);
  ASSERT_TRUE(index);
  EXPECT_EQ(name_at(**index, 0x20), "good");
  EXPECT_EQ(name_at(**index, 0x10), "");
  EXPECT_EQ(diagnostics.count("perf map line without an address"), 2U);
  EXPECT_EQ(diagnostics.count("perf map line without a size"), 2U);
  EXPECT_EQ(diagnostics.count("perf map line without a name"), 1U);
  EXPECT_EQ(diagnostics.count("perf map line whose range leaves the address space"), 1U);
}

TEST(PerfMapIndex, CommentsAndMarkersWhereWanted) {
  Diagnostics diagnostics;
  std::string seen;
  PerfMapIndexOptions options;
  options.comment = [&](std::string_view line) { seen += line; };
  options.marker = [&](uint64_t address, std::string_view name) {
    seen += std::to_string(address) + std::string(name);
  };
  const auto index =
      PerfMapIndex::read(as_source("# one\n10 0 mark\n20 4 f\n#two"), diagnostics, options);
  ASSERT_TRUE(index);
  EXPECT_EQ(seen, "# one16mark#two");
  EXPECT_TRUE(diagnostics.empty());
}

// Answers from another text than the one that was read.
class RewrittenSource : public ByteSource {
 public:
  Result<size_t> read(std::span<std::byte> out) override { return now->read(out); }
  Result<size_t> read_at(uint64_t offset, std::span<std::byte> out) override {
    return now->read_at(offset, out);
  }
  [[nodiscard]] bool seekable() const override { return true; }
  [[nodiscard]] uint64_t size() const override { return now->size(); }
  [[nodiscard]] std::string where() const override { return "rewritten"; }
  std::unique_ptr<ByteSource> now;
};

TEST(PerfMapIndex, ARewrittenMapGivesNoName) {
  auto source = std::make_unique<RewrittenSource>();
  RewrittenSource* const map = source.get();
  map->now = as_source("1000 10 before\n2000 10 x\n2000 10 y\n");
  Diagnostics diagnostics;
  const auto index = PerfMapIndex::read(std::move(source), diagnostics);
  ASSERT_TRUE(index);
  EXPECT_EQ(name_at(**index, 0x1000), "before");
  map->now = as_source("1008 10 after\n");
  EXPECT_EQ(name_at(**index, 0x1000), "(changed)");
  EXPECT_EQ(name_at(**index, 0x2000), "(changed)");
}

TEST(PerfMapIndex, APipeIsRefused) {
  Diagnostics diagnostics;
  const auto index = PerfMapIndex::read(memory_source({}, false), diagnostics);
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().kind, ErrorKind::usage);
}

TEST(PerfMapIndex, RandomMapsAgreeWithASearch) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    const auto lines = random() % 60;
    const uint64_t space = 1 + random() % 200;
    for (uint64_t i = 0; i < lines; ++i) {
      char line[64];
      std::snprintf(line, sizeof(line), "%x %x n%u\n", static_cast<unsigned>(random() % space),
                    static_cast<unsigned>(random() % 20), static_cast<unsigned>(random() % 12));
      text += line;
    }
    ASSERT_EQ(fuzz::check_perf_map_index(std::as_bytes(std::span(text))), "") << text;
  }
}

// Lines that cross the blocks in which a map is read.
TEST(PerfMapIndex, MoreThanABlock) {
  std::string text;
  std::vector<std::pair<uint64_t, std::string>> expected;
  std::mt19937_64 random(5);
  for (uint64_t i = 0; i < 60'000; ++i) {
    const uint64_t address = 0x1000 + i * 32;
    const std::string name = fmt::format("f{}{}", i, std::string(random() % 60, 'x'));
    char numbers[64];
    std::snprintf(numbers, sizeof(numbers), "%llx 20 ", static_cast<unsigned long long>(address));
    text += numbers + name + "\n";
    if (i % 997 == 0) {
      text += numbers + name + "\n";  // and again
      expected.emplace_back(address + 31, name);
    }
  }
  const auto index = index_of(text);
  EXPECT_EQ(index->entries(), 60'000 + expected.size());
  for (const auto& [address, name] : expected) EXPECT_EQ(name_at(*index, address), name);
  EXPECT_EQ(name_at(*index, 0x1000 + 60'000 * 32), "");
}

}  // namespace
}  // namespace jitscope
