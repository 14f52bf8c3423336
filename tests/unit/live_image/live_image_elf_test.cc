// The ELF side of live images: symbols as tools read them, at every moment while more are added;
// and the judgement of readelf and eu-elflint where they are installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "live_image/live_image.h"
#include "tests/support/shell.h"
#include "tests/unit/image/image_file.h"

namespace jitscope {
namespace {

using test::new_memfd;
using test::read_symbols;
using test::reopen;

const std::vector<std::string> names = {
    "Scratch.str",
    "java.util.HashMap.put(java.lang.Object,java.lang.Object)",
    "pkg.Foo$Bar.baz",
    "pkg.Foo.<init>",
    "ü.ß",
    "with space; and % signs",
};

struct Fixture {
  Fixture() {
    UniqueFd fd = new_memfd();
    other = reopen(fd.get());
    auto created = LiveImage::create(std::move(fd), {1, 2}, 64, 16);
    EXPECT_TRUE(created) << to_string(created.error());
    image.emplace(std::move(*created));
    slot = image->begin_batch(live_image_page).value();
  }
  UniqueFd other;
  std::optional<LiveImage> image;
  uint64_t slot = 0;
};

// Nothing when the shell cannot find it.
std::optional<std::string> run(const std::string& command) {
  return test::shell(command + " 2>&1");
}

TEST(LiveImageElf, AFreshImageHasNoSymbols) {
  Fixture f;
  const auto symbols = read_symbols(f.other.get());
  ASSERT_TRUE(symbols);
  EXPECT_TRUE(symbols->empty());
}

TEST(LiveImageElf, SymbolsAreFunctionsOfTheTextWithTheirSize) {
  Fixture f;
  std::vector<ImageSymbol> added;
  for (size_t i = 0; i < names.size(); ++i) {
    added.push_back({names[i], f.slot + i * 64, 16 + i, i % 2 == 0});
  }
  ASSERT_TRUE(f.image->add_symbols(added));
  const auto symbols = read_symbols(f.other.get());
  ASSERT_TRUE(symbols);
  ASSERT_EQ(symbols->size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    // Local ones come first.
    const auto& symbol = (*symbols)[i % 2 == 0 ? 3 + i / 2 : i / 2];
    EXPECT_EQ(symbol.name, names[i]);
    EXPECT_EQ(symbol.value, f.slot + i * 64);
    EXPECT_EQ(symbol.size, 16 + i);
    EXPECT_EQ(symbol.type, i % 2 == 0 ? STT_FUNC : STT_NOTYPE) << "a wildcard must not find slots";
    EXPECT_EQ(symbol.binding, i % 2 == 0 ? STB_GLOBAL : STB_LOCAL);
    EXPECT_EQ(symbol.section, ".text");
  }
}

TEST(LiveImageElf, BadSymbolsChangeNothing) {
  Fixture f;
  ASSERT_TRUE(f.image->add_symbols(std::vector<ImageSymbol>{{"good", f.slot, 1, true}}));
  const auto before = test::read_all(f.other.get());
  const std::vector<ImageSymbol> bad = {
      {"", f.slot, 1, true},
      {"empty", f.slot, 0, true},
      {"before", f.slot - 1, 1, true},
      {"behind", f.slot + live_image_page, 1, true},
      {"long", f.slot, live_image_page + 1, true},
      {"huge", f.slot + 1, UINT64_MAX, true},
      {std::string("nul\0inside", 10), f.slot, 1, true},
  };
  for (const ImageSymbol& symbol : bad) {
    const std::vector<ImageSymbol> pair = {{"fine", f.slot, 1, true}, symbol};
    EXPECT_FALSE(f.image->add_symbols(pair)) << symbol.name;
  }
  EXPECT_EQ(f.image->symbols().size(), 1u);
  EXPECT_EQ(test::read_all(f.other.get()), before);
}

// Everything but the 8 bytes of e_shoff keeps its bytes, so that a reader in the middle of the old
// tables finishes with the old symbols.
TEST(LiveImageElf, AddingSymbolsOnlyAppendsAndMovesOnePointer) {
  Fixture f;
  for (int round = 0; round < 20; ++round) {
    auto before = test::read_all(f.other.get());
    ASSERT_TRUE(f.image->add_symbols(
        std::vector<ImageSymbol>{{fmt::format("round{}", round), f.slot, 8, true}}));
    auto after = test::read_all(f.other.get());
    ASSERT_GT(after.size(), before.size());
    after.resize(before.size());
    std::fill_n(before.begin() + offsetof(Elf64_Ehdr, e_shoff), 8, std::byte{0});
    std::fill_n(after.begin() + offsetof(Elf64_Ehdr, e_shoff), 8, std::byte{0});
    ASSERT_EQ(after, before) << round;
  }
}

TEST(LiveImageElf, AReaderAlwaysFindsAWholeTable) {
  Fixture f;
  constexpr size_t rounds = 200;
  std::atomic<bool> done = false;
  std::atomic<bool> started = false;
  size_t reads = 0;
  size_t broken = 0;
  size_t shrunk = 0;
  size_t last = 0;
  std::thread reader([&] {
    while (true) {
      const bool final_read = done;
      const auto symbols = read_symbols(f.other.get());
      ++reads;
      if (!symbols) {
        ++broken;
      } else {
        shrunk += symbols->size() < last ? 1 : 0;
        last = symbols->size();
        for (size_t i = 0; i < last; ++i) {
          if ((*symbols)[i].name != fmt::format("symbol{}", i)) ++broken;
        }
      }
      started = true;
      if (final_read) break;
    }
  });
  while (!started) std::this_thread::yield();
  for (size_t i = 0; i < rounds; ++i) {
    EXPECT_TRUE(f.image->add_symbols(
        std::vector<ImageSymbol>{{fmt::format("symbol{}", i), f.slot + i, 1, true}}));
  }
  done = true;
  reader.join();
  EXPECT_EQ(broken, 0u);
  EXPECT_EQ(shrunk, 0u);
  EXPECT_EQ(last, rounds);
  EXPECT_GE(reads, 2u);
}

TEST(LiveImageElf, ReadelfFindsNothingToWarnOf) {
  Fixture f;
  ASSERT_TRUE(f.image->add_symbols(
      std::vector<ImageSymbol>{{"a.b.C.d", f.slot, 21, true}, {"slot", f.slot + 64, 21, false}}));
  const auto output = run(fmt::format("readelf -hlSsnW /proc/{}/fd/{}", ::getpid(), f.other.get()));
  if (!output) GTEST_SKIP() << "readelf is not installed";
  EXPECT_THAT(*output, testing::EndsWith("status=0\n"));
  EXPECT_THAT(*output, testing::Not(testing::HasSubstr("arning")));
  EXPECT_THAT(*output, testing::HasSubstr("DYN (Shared object file)"));
  EXPECT_THAT(*output, testing::HasSubstr("LOAD           0x000000 0x0000000000000000"));
  EXPECT_THAT(*output, testing::HasSubstr("NT_GNU_BUILD_ID"));
  EXPECT_THAT(*output, testing::ContainsRegex("21 FUNC    GLOBAL DEFAULT    4 a.b.C.d"));
  EXPECT_THAT(*output, testing::ContainsRegex("21 NOTYPE  LOCAL  DEFAULT    4 slot"));
}

TEST(LiveImageElf, ElflintObjectsOnlyToTheOwnerOfOurNote) {
  Fixture f;
  ASSERT_TRUE(f.image->add_symbols(
      std::vector<ImageSymbol>{{"a.b.C.d", f.slot, 21, true}, {"slot", f.slot + 64, 21, false}}));
  const auto output = run(fmt::format("eu-elflint /proc/{}/fd/{}", ::getpid(), f.other.get()));
  if (!output) GTEST_SKIP() << "eu-elflint is not installed";
  size_t start = 0;
  for (size_t end = 0; (end = output->find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string line = output->substr(start, end - start);
    if (line.starts_with("status=") || line == "No errors") continue;
    EXPECT_THAT(line, testing::HasSubstr("note type 1 with owner name 'jitscope'"));
  }
}

}  // namespace
}  // namespace jitscope
