#include "formats/pe/pe_symbols.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/pe_builder.h"
#include "unit/formats/pe/pe_test_image.h"

namespace jitscope {
namespace {

constexpr uint32_t kXdata = 0x5000;
constexpr uint32_t kPieceOf1000 = kXdata + 4;

// An image of code at 0x1000 to 0x1200 and, away from it, at 0x2000 to 0x2100.
class Image {
 public:
  Image() {
    pe_.sections = {{".text", 0x1000, std::string(0x200, '\xcc')},
                    {".cold", 0x2000, std::string(0x100, '\xcc')},
                    {".data", 0x3000, std::string(0x100, 'd'), 0, 0, 0xc0000040}};
  }
  Image& function(uint32_t begin, uint32_t end, uint32_t unwind = kXdata) {
    pdata_.u32(begin).u32(end).u32(unwind);
    return *this;
  }
  Image& symbol(const char* name, uint32_t rva, bool typed = true) {
    const int section = rva < 0x2000 ? 1 : 2;
    pe_.add_symbol({name, rva - 0x1000U * static_cast<uint32_t>(section), section,
                    static_cast<uint16_t>(typed ? 0x20 : 0)});
    return *this;
  }
  Image& exported(const char* name, uint32_t rva) {
    exports_.emplace_back(name, rva);
    return *this;
  }
  [[nodiscard]] std::string bytes() const {
    test::PeBuilder pe = pe_;
    pe.sections.push_back({".pdata", 0x4000, pdata_.bytes() + "\0", 0, 0, 0x40000040});
    pe.directories[3] = {0x4000, static_cast<uint32_t>(pdata_.size())};
    test::LittleBytes xdata;
    xdata.u8(1).zeros(3).u8(1 | 4U << 3U).zeros(3).u32(0x1000).u32(0x1010).u32(kXdata);
    pe.sections.push_back({".xdata", kXdata, xdata.bytes(), 0, 0, 0x40000040});
    const size_t count = exports_.size();
    test::LittleBytes edata;
    edata.zeros(16).u32(1).u32(count).u32(count).u32(0x6028).u32(0x6028 + 4 * count);
    edata.u32(0x6028 + 8 * count);
    std::string strings;
    for (const auto& [name, rva] : exports_) edata.u32(rva);
    for (const auto& [name, rva] : exports_) {
      edata.u32(0x6028 + 10 * count + strings.size());
      strings += name + '\0';
    }
    for (size_t i = 0; i < count; ++i) edata.u16(i);
    edata.text(strings);
    pe.sections.push_back({".edata", 0x6000, edata.bytes(), 0, 0, 0x40000040});
    pe.directories[0] = {0x6000, static_cast<uint32_t>(edata.size())};
    return pe.build();
  }
  [[nodiscard]] PeSymbols symbols() const {
    const test::PeFile file(bytes());  // gone when they are used
    return PeSymbols::of(*file);
  }

 private:
  test::PeBuilder pe_;
  test::LittleBytes pdata_;
  std::vector<std::pair<std::string, uint32_t>> exports_;
};

std::string text(const std::optional<PeSymbol>& symbol) {
  if (!symbol) return "nothing";
  constexpr std::array kKinds = {"symbol", "export", "bounds"};
  return std::string(symbol->name) + " " + std::to_string(symbol->start - 0x1000) + "+" +
         std::to_string(symbol->size) + " " + kKinds[static_cast<size_t>(symbol->kind)];
}

TEST(PeSymbols, EndWhereTheNextBeginsOrTheFunctionEnds) {
  const PeSymbols symbols = Image()
                                .function(0x1000, 0x1010)
                                .function(0x1020, 0x1030)
                                .symbol("first", 0x1000)
                                .symbol("second", 0x1020)
                                .symbol("inside", 0x1028)
                                .symbol("leaf", 0x1100)
                                .symbol("last", 0x1180)
                                .symbol("cold", 0x2000)
                                .symbols();
  EXPECT_TRUE(symbols.has_coff());
  EXPECT_EQ(symbols.exports(), 0U);
  EXPECT_TRUE(symbols.damage().empty());
  EXPECT_EQ(text(symbols.at(0xfff)), "nothing");
  EXPECT_EQ(text(symbols.at(0x1000)), "first 0+16 symbol");
  EXPECT_EQ(text(symbols.at(0x100f)), "first 0+16 symbol");
  EXPECT_EQ(text(symbols.at(0x1010)), "nothing") << "between functions";
  EXPECT_EQ(text(symbols.at(0x1027)), "second 32+8 symbol");
  EXPECT_EQ(text(symbols.at(0x1028)), "inside 40+8 symbol");
  EXPECT_EQ(text(symbols.at(0x1030)), "nothing");
  EXPECT_EQ(text(symbols.at(0x117f)), "leaf 256+128 symbol");
  EXPECT_EQ(text(symbols.at(0x11ff)), "last 384+128 symbol") << "up to the section's end";
  EXPECT_EQ(text(symbols.at(0x1200)), "nothing");
  EXPECT_EQ(text(symbols.at(0x20ff)), "cold 4096+256 symbol");
  EXPECT_EQ(text(symbols.at(0x3000)), "nothing") << "data";
}

TEST(PeSymbols, NoNameFromBeforeTheFunction) {
  const PeSymbols symbols = Image()
                                .function(0x1000, 0x1010)
                                .function(0x1010, 0x1020)
                                .function(0x1030, 0x1040)
                                .symbol("first", 0x1000)
                                .symbol("leaf", 0x1028)
                                .symbols();
  EXPECT_EQ(text(symbols.at(0x1015)), " 16+16 bounds");
  EXPECT_EQ(text(symbols.at(0x102f)), "leaf 40+8 symbol");
  EXPECT_EQ(text(symbols.at(0x1035)), " 48+16 bounds");
}

TEST(PeSymbols, LabelsInsideOfAFunctionAreNotFunctions) {
  const PeSymbols symbols = Image()
                                .function(0x1000, 0x1020)
                                .symbol("function", 0x1000)
                                .symbol("label", 0x1010, false)
                                .symbol("stub_1", 0x1040, false)
                                .symbol("stub_2", 0x1048, false)
                                .symbols();
  EXPECT_EQ(text(symbols.at(0x1018)), "function 0+32 symbol");
  EXPECT_EQ(text(symbols.at(0x1044)), "stub_1 64+8 symbol");
}

TEST(PeSymbols, OfOneAddressTheBest) {
  const PeSymbols symbols = Image()
                                .symbol("label", 0x1000, false)
                                .symbol("longer", 0x1000)
                                .symbol("short", 0x1000)
                                .symbols();
  EXPECT_EQ(text(symbols.at(0x1000)), "short 0+512 symbol");
  EXPECT_EQ(symbols.size(), 1U);
}

TEST(PeSymbols, NearestExportOfTheSameFunction) {
  const PeSymbols symbols = Image()
                                .function(0x1000, 0x1010)
                                .function(0x1010, 0x1020)
                                .function(0x1030, 0x1040)
                                .exported("first", 0x1000)
                                .exported("leaf", 0x1024)
                                .exported("inside", 0x1038)
                                .exported("variable", 0x3000)
                                .symbols();
  EXPECT_FALSE(symbols.has_coff());
  EXPECT_EQ(symbols.exports(), 3U);
  EXPECT_EQ(text(symbols.at(0x100f)), "first 0+16 export");
  EXPECT_EQ(text(symbols.at(0x101f)), " 16+16 bounds");
  EXPECT_EQ(text(symbols.at(0x1020)), "nothing");
  EXPECT_EQ(text(symbols.at(0x102f)), "leaf 36+12 export");
  EXPECT_EQ(text(symbols.at(0x1037)), " 48+8 bounds");
  EXPECT_EQ(text(symbols.at(0x103f)), "inside 56+8 export");
  EXPECT_EQ(text(symbols.at(0x1040)), "nothing");
}

TEST(PeSymbols, SymbolsBeforeExports) {
  const PeSymbols symbols = Image()
                                .symbol("own_name", 0x1000)
                                .exported("ExportedName", 0x1000)
                                .exported("Inside", 0x1010)
                                .symbols();
  EXPECT_EQ(text(symbols.at(0x1018)), "own_name 0+512 symbol");
}

TEST(PeSymbols, PiecesOfAFunction) {
  Image image;
  image.function(0x1000, 0x1010)
      .function(0x1010, 0x1020, kPieceOf1000)
      .function(0x1020, 0x1030)
      .function(0x2000, 0x2010, kPieceOf1000);
  EXPECT_EQ(text(image.symbols().at(0x1018)), " 0+32 bounds") << "one function";
  EXPECT_EQ(text(image.symbols().at(0x2008)), " 4096+16 bounds");
  image.exported("Split", 0x1000);
  EXPECT_EQ(text(image.symbols().at(0x1018)), "Split 0+32 export");
  EXPECT_EQ(text(image.symbols().at(0x2008)), "Split 4096+16 export") << "away from it";
  image.symbol("split", 0x1000);
  EXPECT_EQ(text(image.symbols().at(0x2008)), "split 4096+16 symbol");
  image.symbol("split.cold", 0x2000);
  EXPECT_EQ(text(image.symbols().at(0x2008)), "split.cold 4096+16 symbol");
}

TEST(PeSymbols, VisitsAllByAddressWithoutOverlaps) {
  const PeSymbols symbols = Image()
                                .function(0x1010, 0x1020)
                                .symbol("b", 0x1100)
                                .symbol("a", 0x1000)
                                .exported("e", 0x2000)
                                .symbols();
  std::vector<std::string> all;
  symbols.for_each([&](const PeSymbol& symbol) { all.push_back(text(symbol)); });
  EXPECT_EQ(all, (std::vector<std::string>{"a 0+16 symbol", " 16+16 bounds", "b 256+256 symbol",
                                           "e 4096+256 export"}));
}

TEST(PeSymbols, DamagedTablesAreLeftOutAndSaid) {
  std::string bytes = Image().symbol("a", 0x1000).exported("e", 0x1000).bytes();
  test::overwrite(bytes, test::PeBuilder::kPe + 16, 0xffffff, 4);
  const test::PeFile file(bytes);
  const PeSymbols symbols = PeSymbols::of(*file);
  ASSERT_EQ(symbols.damage().size(), 1U);
  EXPECT_EQ(symbols.damage()[0].kind, ErrorKind::damaged);
  EXPECT_FALSE(symbols.has_coff());
  EXPECT_EQ(text(symbols.at(0x1004)), "e 0+512 export");
}

TEST(PeSymbols, ImagesWithoutCode) {
  test::PeBuilder pe;
  const test::PeFile file(pe);
  EXPECT_EQ(PeSymbols::of(*file).at(0), std::nullopt);
  EXPECT_EQ(PeSymbols::of(*file).size(), 0U);
}

}  // namespace
}  // namespace jitscope
