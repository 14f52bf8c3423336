// The DWARF side of code images: lines and chains of inlined calls, as libdw reads them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/image/written_image.h"

namespace jitscope {
namespace {

using Frame = test::ImageReader::Frame;
using test::image_kinds;
using test::image_options;
using test::ImageKind;
using test::ImageLayout;
using test::inlined_body;
using test::SampleBody;
using test::WrittenImage;
using testing::ElementsAre;

constexpr uint64_t kBegin = 0x7f00'0000;
constexpr uint32_t kNone = CodeScopes::kNone;

// The entries of one kind in the unit, and what their name is.
std::vector<std::string> entries(const test::ImageReader& reader, int tag, int attribute) {
  std::vector<std::string> names;
  Dwarf_Off next = 0;
  size_t header = 0;
  if (dwarf_nextcu(reader.dwarf(), 0, &next, &header, nullptr, nullptr, nullptr) != 0) return names;
  Dwarf_Die unit;
  Dwarf_Die at;
  if (dwarf_offdie(reader.dwarf(), header, &unit) == nullptr || dwarf_child(&unit, &at) != 0) {
    return names;
  }
  do {
    if (dwarf_tag(&at) == tag && dwarf_hasattr(&at, static_cast<unsigned>(attribute)) != 0) {
      names.emplace_back(dwarf_diename(&at));
    }
  } while (dwarf_siblingof(&at, &at) == 0);
  return names;
}

TEST(CodeImageDebug, EachPlaceHasItsChain) {
  for (const ImageKind kind : image_kinds) {
    const std::vector<SampleBody> bodies = {inlined_body(kBegin, "pkg.Table.put"),
                                            inlined_body(kBegin + 64, "pkg.Table.get"),
                                            inlined_body(kBegin + 0x20'0000, "pkg.Table.far")};
    const WrittenImage image(bodies, image_options(kind.layout, kind.dwarf));
    ASSERT_EQ(image.summary().symbols, 6u);
    const auto reader = image.reader();
    for (const SampleBody& body : bodies) {
      const auto at = [&](uint64_t offset) { return reader.frames(body.begin + offset); };
      const auto own = [&](int line) {
        return Frame{body.alias, line == 0 ? "" : "/src/pkg/Table.java", line};
      };
      const auto hash = [](int line) {
        return Frame{"pkg.Hash.hash(int)", "/src/pkg/Hash.java", line};
      };
      const Frame mix{"pkg.Mixer.mix(int)", "/src/pkg/Mixer.java", 70};
      EXPECT_THAT(at(0), ElementsAre(own(10)));
      EXPECT_THAT(at(7), ElementsAre(own(10)));
      EXPECT_THAT(at(8), ElementsAre(hash(5), own(12)));
      EXPECT_THAT(at(16), ElementsAre(mix, hash(6), own(12)));
      EXPECT_THAT(at(23), ElementsAre(mix, hash(6), own(12)));
      EXPECT_THAT(at(24), ElementsAre(own(14)));
      EXPECT_THAT(at(32), ElementsAre(hash(7), own(12)));
      EXPECT_THAT(at(40), ElementsAre(own(0)));
      EXPECT_THAT(at(48), ElementsAre(own(0)));
      EXPECT_THAT(at(55), ElementsAre(own(0)));
      EXPECT_THAT(at(56), ElementsAre(own(20)));
      EXPECT_THAT(at(63), ElementsAre(own(20)));
    }
    EXPECT_TRUE(reader.frames(kBegin + 128).empty());
    // One abstract function for each that was inlined, however often.
    EXPECT_THAT(entries(reader, DW_TAG_subprogram, DW_AT_inline),
                ElementsAre("pkg.Hash.hash(int)", "pkg.Mixer.mix(int)"));
  }
}

// Several units, which lie across each other when bodies come in no order.
TEST(CodeImageDebug, ThousandsOfBodies) {
  for (const ImageKind kind : image_kinds) {
    std::vector<SampleBody> bodies;
    for (uint64_t i = 0; i < 2000; ++i) {
      bodies.push_back(
          inlined_body(kBegin + i * 64 + i / 2 * 16, fmt::format("pkg.Table.method{}", i)));
    }
    std::shuffle(bodies.begin() + 700, bodies.end(), std::mt19937(1));
    const WrittenImage image(bodies, image_options(kind.layout, kind.dwarf));
    ASSERT_TRUE(image.status()) << to_string(image.status().error());
    const auto reader = image.reader();
    for (const SampleBody& body : bodies) {
      const Frame own{body.alias, "/src/pkg/Table.java", 12};
      ASSERT_THAT(reader.frames(body.begin + 16),
                  ElementsAre(Frame{"pkg.Mixer.mix(int)", "/src/pkg/Mixer.java", 70},
                              Frame{"pkg.Hash.hash(int)", "/src/pkg/Hash.java", 6}, own));
      ASSERT_THAT(reader.frames(body.begin + 63),
                  ElementsAre(Frame{body.alias, "/src/pkg/Table.java", 20}));
    }
  }
}

TEST(CodeImageDebug, OneInlinedCallIsOneEntryWithAllItsCode) {
  for (const ImageKind kind : image_kinds) {
    const WrittenImage image({inlined_body(kBegin, "f")}, image_options(kind.layout, kind.dwarf));
    const auto reader = image.reader();
    Dwarf_Die unit;
    Dwarf_Die body;
    Dwarf_Die call;
    ASSERT_NE(dwarf_addrdie(reader.dwarf(), kBegin, &unit), nullptr);
    ASSERT_EQ(dwarf_child(&unit, &body), 0);
    while (dwarf_hasattr(&body, DW_AT_low_pc) == 0) {
      ASSERT_EQ(dwarf_siblingof(&body, &body), 0);
    }
    ASSERT_EQ(dwarf_child(&body, &call), 0);
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    ptrdiff_t at = 0;
    Dwarf_Addr base = 0;
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    while ((at = dwarf_ranges(&call, at, &base, &begin, &end)) > 0) {
      ranges.emplace_back(begin - kBegin, end - kBegin);
    }
    EXPECT_THAT(ranges, ElementsAre(std::pair(8, 24), std::pair(32, 40)));
    EXPECT_NE(dwarf_siblingof(&call, &call), 0);  // the only one
  }
}

SampleBody body_of(std::vector<CodeScopes::Method> methods, std::vector<CodeScopes::Scope> scopes,
                   std::vector<CodeScopes::Range> ranges) {
  SampleBody body;
  body.begin = kBegin;
  body.name = "f";
  body.code = test::some_code(64, 1);
  body.scopes = {std::move(methods), std::move(scopes), std::move(ranges)};
  return body;
}

// g(g(1)) on one line: two calls, told apart by their bytecode.
TEST(CodeImageDebug, CallsOfOneLineAreTwoEntries) {
  const auto body = body_of({{"f", "F.java"}, {"g", "G.java"}},
                            {{kNone, 0, 4, 12}, {0, 1, 0, 5}, {kNone, 0, 8, 12}, {2, 1, 0, 5}},
                            {{0, 16, 1, true}, {16, 32, 3, true}});
  const WrittenImage image({body}, image_options(ImageLayout::absolute));
  const auto reader = image.reader();
  const auto chain = {Frame{"g", "/src/G.java", 5}, Frame{"f", "/src/F.java", 12}};
  EXPECT_THAT(reader.frames(kBegin + 15), testing::ElementsAreArray(chain));
  EXPECT_THAT(reader.frames(kBegin + 16), testing::ElementsAreArray(chain));
  Dwarf_Die unit;
  Dwarf_Die at;
  ASSERT_NE(dwarf_addrdie(reader.dwarf(), kBegin, &unit), nullptr);
  ASSERT_EQ(dwarf_child(&unit, &at), 0);
  while (dwarf_haschildren(&at) != 1) {
    ASSERT_EQ(dwarf_siblingof(&at, &at), 0);
  }
  ASSERT_EQ(dwarf_child(&at, &at), 0);
  Dwarf_Addr end = 0;
  ASSERT_EQ(dwarf_highpc(&at, &end), 0);
  EXPECT_EQ(end, kBegin + 16);
  ASSERT_EQ(dwarf_siblingof(&at, &at), 0);
  ASSERT_EQ(dwarf_highpc(&at, &end), 0);
  EXPECT_EQ(end, kBegin + 32);
}

TEST(CodeImageDebug, NamesOfFunctions) {
  auto bodies = std::vector{inlined_body(kBegin, "a"), inlined_body(kBegin + 64, "b"),
                            inlined_body(kBegin + 128, "c"), inlined_body(kBegin + 192, "")};
  bodies[0].full_name = "the full name";
  bodies[1].alias = "the alias";
  bodies[2].alias = "";
  bodies[2].scopes = {};
  bodies[3].alias = std::string("n\0l", 3);
  for (const ImageKind kind : image_kinds) {
    const WrittenImage image(bodies, image_options(kind.layout, kind.dwarf));
    const auto reader = image.reader();
    EXPECT_EQ(reader.frames(kBegin).at(0).function, "the full name");
    EXPECT_EQ(reader.frames(kBegin + 64).at(0).function, "the alias");
    EXPECT_EQ(reader.frames(kBegin + 128), std::vector{(Frame{"c", "", 0})});
    EXPECT_EQ(reader.frames(kBegin + 192).at(0).function, "n?l");
  }
}

std::vector<std::vector<Frame>> chains(const SampleBody& body, ImageKind kind,
                                       const std::vector<uint64_t>& offsets) {
  const WrittenImage image({body}, image_options(kind.layout, kind.dwarf));
  EXPECT_TRUE(image.status());
  const auto reader = image.reader();
  std::vector<std::vector<Frame>> all;
  for (const uint64_t offset : offsets) all.push_back(reader.frames(body.begin + offset));
  return all;
}

TEST(CodeImageDebug, TheFirstPlaceHasALineOfTheMethodItself) {
  const std::vector<CodeScopes::Method> methods = {{"f", "F.java"}, {"g", "G.java"}};
  const Frame none{"f", "", 0};
  const Frame own{"f", "/src/F.java", 12};
  for (const ImageKind kind : image_kinds) {
    // The first range begins later, in an inlined call.
    auto body = body_of(methods, {{kNone, 0, 0, 12}, {0, 1, 0, 5}}, {{16, 32, 1, true}});
    EXPECT_THAT(chains(body, kind, {0, 15, 16, 32}),
                ElementsAre(ElementsAre(own), ElementsAre(own),
                            ElementsAre(Frame{"g", "/src/G.java", 5}, own), ElementsAre(none)));
    // Nothing is known of the line of the first range, and then comes a gap.
    body = body_of(methods, {{kNone, 0, 0, 0}, {kNone, 0, 4, 12}},
                   {{0, 8, 0, true}, {16, 24, 1, true}});
    EXPECT_THAT(chains(body, kind, {0, 7, 8, 16, 24}),
                ElementsAre(ElementsAre(own), ElementsAre(own), ElementsAre(none), ElementsAre(own),
                            ElementsAre(none)));
    // No lines at all.
    body = body_of(methods, {{kNone, 0, 0, 0}}, {{0, 64, 0, true}});
    EXPECT_THAT(chains(body, kind, {0, 63}), ElementsAre(ElementsAre(none), ElementsAre(none)));
  }
}

TEST(CodeImageDebug, UnknownAndHugeLinesAndFiles) {
  for (const ImageKind kind : image_kinds) {
    const auto body = body_of({{"f", ""}, {"", "/abs/G.java"}, {"h", std::string("n\0l", 3)}},
                              {{kNone, 0, 0, 7},
                               {kNone, 0, 1, INT32_MAX},
                               {kNone, 0, 2, UINT32_MAX},
                               {2, 1, 0, 1},
                               {0, 2, 0, 9}},
                              {{0, 8, 0, true},
                               {8, 16, 1, true},
                               {16, 24, 2, true},
                               {24, 32, 3, true},
                               {32, 40, 4, true}});
    const Frame unknown{"f", "/src/<unknown>", 7};
    EXPECT_THAT(
        chains(body, kind, {0, 8, 16, 24, 32}),
        ElementsAre(ElementsAre(unknown), ElementsAre(Frame{"f", "/src/<unknown>", INT32_MAX}),
                    ElementsAre(Frame{"f", "", 0}),
                    ElementsAre(Frame{"?", "/abs/G.java", 1}, Frame{"f", "", 0}),
                    ElementsAre(Frame{"h", "/src/n?l", 9}, unknown)));
  }
}

TEST(CodeImageDebug, LinesJumpAsFarAsTheyLike) {
  constexpr uint32_t lines[] = {1, INT32_MAX, 1, 2, 100, 99, 94, 89, 88, 97, 98, 112, 1'000'000, 5};
  for (const ImageKind kind : image_kinds) {
    for (const uint32_t step : {1U, 16U, 17U, 18U, 33U, 34U, 35U, 1000U}) {
      SampleBody body = body_of({{"f", "F.java"}}, {}, {});
      body.code = test::some_code(std::size(lines) * step, step);
      for (uint32_t i = 0; i < std::size(lines); ++i) {
        body.scopes.scopes.push_back({kNone, 0, -1, lines[i]});
        body.scopes.ranges.push_back({i * step, (i + 1) * step, i, true});
      }
      std::vector<uint64_t> offsets;
      for (uint32_t i = 0; i < std::size(lines); ++i) offsets.push_back((i + 1) * step - 1);
      const auto found = chains(body, kind, offsets);
      for (size_t i = 0; i < std::size(lines); ++i) {
        EXPECT_THAT(found[i], ElementsAre(Frame{"f", "/src/F.java", static_cast<int>(lines[i])}))
            << "step " << step << " line " << i;
      }
    }
  }
}

// What stands nearer than the deepest is there, the rest counts as its caller.
TEST(CodeImageDebug, ChainsAreAsDeepAsToolsCanTake) {
  SampleBody body = body_of({{"f", "F.java"}}, {{kNone, 0, 0, 1}}, {{0, 64, 499, true}});
  for (uint32_t i = 1; i < 500; ++i) {
    body.scopes.methods.push_back({fmt::format("g{}", i), "G.java"});
    body.scopes.scopes.push_back({i - 1, i, 0, i + 1});
  }
  for (const ImageKind kind : image_kinds) {
    const auto chain = chains(body, kind, {5})[0];
    ASSERT_EQ(chain.size(), 101u);
    EXPECT_EQ(chain[0], (Frame{"g100", "/src/G.java", 101}));
    EXPECT_EQ(chain[100], (Frame{"f", "/src/F.java", 1}));
  }
}

// The contract forbids them; they must do no harm.
TEST(CodeImageDebug, ScopesThatMakeNoSenseAreLeftOut) {
  const auto body = body_of(
      {{"f", "F.java"}, {"g", "G.java"}},
      {{kNone, 0, 0, 1}, {1, 1, 0, 2}, {5, 1, 0, 3}, {0, 9, 0, 4}, {2, 1, 0, 5}, {kNone, 0, 0, 6}},
      {{0, 8, 0, true},
       {8, 16, 1, true},
       {16, 20, 2, true},
       {20, 24, 3, true},
       {24, 28, 4, true},
       {28, 28, 0, true},
       {30, 29, 0, true},
       {28, 32, 99, true},
       {32, 40, 5, true},
       {36, 44, 0, true},
       {40, 4000, 5, true}});
  for (const ImageKind kind : image_kinds) {
    const Frame none{"f", "", 0};
    EXPECT_THAT(chains(body, kind, {0, 8, 16, 20, 24, 28, 32, 39, 40, 63}),
                ElementsAre(ElementsAre(Frame{"f", "/src/F.java", 1}), ElementsAre(none),
                            ElementsAre(none), ElementsAre(none), ElementsAre(none),
                            ElementsAre(none), ElementsAre(Frame{"f", "/src/F.java", 6}),
                            ElementsAre(Frame{"f", "/src/F.java", 6}),
                            ElementsAre(Frame{"f", "/src/F.java", 6}),
                            ElementsAre(Frame{"f", "/src/F.java", 6})));
  }
}

TEST(CodeImageDebug, DebugInformationCanBeLeftOut) {
  CodeImageOptions options = image_options(ImageLayout::absolute);
  options.debug_info = false;
  const WrittenImage image({inlined_body(kBegin, "f")}, options);
  GElf_Shdr header;
  const auto reader = image.reader();
  EXPECT_EQ(reader.section(".debug_info", header), nullptr);
  EXPECT_EQ(reader.symbols().size(), 2u);
}

}  // namespace
}  // namespace jitscope
