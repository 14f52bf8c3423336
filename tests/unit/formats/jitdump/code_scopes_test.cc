#include "formats/jitdump/code_scopes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dump_builder.h"
#include "fuzz/code_scopes_check.h"
#include "unit/corpus.h"

namespace jitscope {
namespace {

using namespace std::string_literals;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// a() with b() inlined at two places, c() in the second of them.
CodeScopes sample() {
  CodeScopes scopes;
  scopes.methods = {{"A.a()", "A.java"}, {"B.b()", "B.java"}, {"C.c()", ""}};
  scopes.scopes = {{CodeScopes::kNone, 0, 3, 10},
                   {0, 1, -1, 0},
                   {CodeScopes::kNone, 0, 70000, 4000000000U},
                   {2, 1, 0, 7},
                   {3, 2, 1, 99}};
  scopes.ranges = {{0, 4, 0, false}, {4, 9, 1, true}, {12, 300, 4, true}, {300, 301, 2, false}};
  return scopes;
}

std::string encoded(const CodeScopes& scopes) {
  std::string out;
  jitdump::encode_scopes(out, scopes);
  return out;
}

TEST(CodeScopes, WhatIsEncodedIsDecoded) {
  std::string out = "before";
  jitdump::encode_scopes(out, sample());
  ASSERT_TRUE(out.starts_with("before"));
  const auto back = jitdump::decode_scopes(bytes_of(out).subspan(6), 301);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, sample());
  EXPECT_EQ(fuzz::check_rules(*back, 301), "");
}

TEST(CodeScopes, TheRangeOfAnOffset) {
  const CodeScopes scopes = sample();
  EXPECT_EQ(scopes.at(0), &scopes.ranges[0]);
  EXPECT_EQ(scopes.at(3), &scopes.ranges[0]);
  EXPECT_EQ(scopes.at(4), &scopes.ranges[1]);
  EXPECT_EQ(scopes.at(9), nullptr);
  EXPECT_EQ(scopes.at(11), nullptr);
  EXPECT_EQ(scopes.at(299), &scopes.ranges[2]);
  EXPECT_EQ(scopes.at(300), &scopes.ranges[3]);
  EXPECT_EQ(scopes.at(301), nullptr);
  EXPECT_EQ(scopes.at(UINT32_MAX), nullptr);
  EXPECT_EQ(CodeScopes().at(0), nullptr);
  EXPECT_TRUE(scopes.any_inlined());
  CodeScopes flat = scopes;
  for (auto& scope : flat.scopes) scope.parent = CodeScopes::kNone;
  EXPECT_FALSE(flat.any_inlined());
}

TEST(CodeScopes, WhatCannotBeSaidIsLeftOut) {
  const auto refused = [](auto change) {
    CodeScopes scopes = sample();
    change(scopes);
    return encoded(scopes).empty();
  };
  EXPECT_FALSE(refused([](CodeScopes&) {}));
  EXPECT_TRUE(refused([](CodeScopes& s) { s.ranges.clear(); }));
  EXPECT_TRUE(refused([](CodeScopes& s) { s.ranges[1].scope = 5; }));
  EXPECT_TRUE(refused([](CodeScopes& s) { s.ranges[1].begin = 3; }));
  EXPECT_TRUE(refused([](CodeScopes& s) { s.ranges[1].end = 4; }));
  EXPECT_TRUE(refused([](CodeScopes& s) { std::swap(s.ranges[1], s.ranges[2]); }));
  EXPECT_TRUE(refused([](CodeScopes& s) { s.scopes[1].parent = 1; }));
  EXPECT_TRUE(refused([](CodeScopes& s) { s.scopes[1].method = 3; }));
  EXPECT_TRUE(refused([](CodeScopes& s) { s.scopes[1].bci = -2; }));
  EXPECT_TRUE(refused([](CodeScopes& s) { s.scopes[1].bci = INT32_MAX; }));
  EXPECT_TRUE(refused([](CodeScopes& s) { s.methods[0].name[0] = '\0'; }));
  EXPECT_TRUE(refused(
      [](CodeScopes& s) { s.methods[0].file.assign(jitdump::kLongestScopeText + 1, 'f'); }));
  EXPECT_TRUE(refused([](CodeScopes& s) { s.methods.resize(70000); }));
}

TEST(CodeScopes, ChainsHaveAnEnd) {
  CodeScopes scopes;
  scopes.methods = {{"m", ""}};
  for (uint32_t i = 0; i < CodeScopes::kDeepest; ++i) scopes.scopes.push_back({i - 1, 0, 0, 0});
  ASSERT_EQ(scopes.scopes[0].parent, CodeScopes::kNone);
  scopes.ranges = {{0, 1, 0, true}};
  const std::string deep = encoded(scopes);
  EXPECT_FALSE(deep.empty());
  const auto back = jitdump::decode_scopes(bytes_of(deep), 1);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, scopes);
  scopes.scopes.push_back({CodeScopes::kDeepest - 1, 0, 0, 0});
  EXPECT_TRUE(encoded(scopes).empty());
}

TEST(CodeScopes, TheLargestNumbers) {
  CodeScopes scopes;
  scopes.methods = {{"", ""}};
  scopes.scopes = {{CodeScopes::kNone, 0, INT32_MAX - 1, UINT32_MAX}};
  scopes.ranges = {{UINT32_MAX - 1, UINT32_MAX, 0, true}};
  const auto back = jitdump::decode_scopes(bytes_of(encoded(scopes)), UINT64_MAX);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, scopes);
}

TEST(CodeScopes, DamagedPayloads) {
  const auto damaged = [](std::string_view payload, uint64_t size = 100) {
    const auto scopes = jitdump::decode_scopes(bytes_of(payload), size);
    return !scopes && scopes.error().kind == ErrorKind::damaged;
  };
  using namespace std::string_view_literals;
  const std::string_view one = "\x01\x01\x01m\x00\x01\x00\x00\x00\x00\x01\x00\x05\x00"sv;
  EXPECT_FALSE(damaged(one));
  EXPECT_TRUE(damaged(one, 4));  // a range beyond the body
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(damaged(one.substr(0, i))) << i;
  EXPECT_TRUE(damaged("\x02\x00\x00\x00"sv));      // a later version
  EXPECT_TRUE(damaged("\x01\x00\x00\x00\x00"sv));  // a byte too many
  EXPECT_FALSE(damaged("\x01\x00\x00\x00"sv));
  // More things than bytes, up to 2^64 - 1 and beyond.
  const std::string_view most = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv;
  EXPECT_TRUE(damaged("\x01"s + std::string(most)));
  EXPECT_TRUE(damaged("\x01\x00"s + std::string(most)));
  EXPECT_TRUE(damaged("\x01\x00\x00"s + std::string(most)));
  EXPECT_TRUE(damaged("\x01\x01"s + std::string(most)));  // the length of a text
  EXPECT_TRUE(damaged("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv));
  EXPECT_TRUE(damaged("\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00\x00\x00"sv));
  EXPECT_TRUE(damaged("\x01\x01\x01\x00\x00\x00\x00"sv));  // a NUL in a name
  // A scope of its own parent; a method that is not there; an empty range; a scope out of range.
  EXPECT_TRUE(damaged("\x01\x01\x01m\x00\x01\x01\x00\x00\x00\x00"sv));
  EXPECT_TRUE(damaged("\x01\x01\x01m\x00\x01\x00\x01\x00\x00\x00"sv));
  EXPECT_TRUE(damaged("\x01\x01\x01m\x00\x01\x00\x00\x00\x00\x01\x00\x00\x00"sv));
  EXPECT_TRUE(damaged("\x01\x01\x01m\x00\x01\x00\x00\x00\x00\x01\x00\x05\x02"sv));
  // Ends that would wrap.
  EXPECT_TRUE(damaged("\x01\x01\x01m\x00\x01\x00\x00\x00\x00\x01\x05\xff\xff\xff\xff\x0f\x00"sv,
                      UINT64_MAX));
  EXPECT_TRUE(damaged(std::string(jitdump::kLargestScopes + 1, '\x01')));
}

TEST(CodeScopes, CorpusHoldsUpToDamage) {
  EXPECT_GE(test::replay_corpus("code_scopes", fuzz::check_code_scopes), 5U);
}

using test::DumpBuilder;

TEST(JitdumpScopes, BelongToTheLoadOfTheirAddress) {
  const std::string first = encoded(sample());
  DumpBuilder builder;
  builder.header();
  builder.begin(jitdump::kScopesId, 1).u64(0x1000).text("replaced").end();
  builder.begin(jitdump::kScopesId, 2).u64(0x1000).text(first).end();
  builder.begin(jitdump::kScopesId, 2).u64(0x2000).text("second").end();
  builder.load(3, 0x2000, "g", "code");
  builder.load(4, 0x1000, "f", "code");
  builder.load(5, 0x1000, "again", "code");
  const std::string all = builder.bytes();
  for (const bool seekable : {true, false}) {
    const auto dump = test::read_dump(test::as_source(all, seekable, 7));
    ASSERT_TRUE(dump);
    ASSERT_EQ(dump->loads.size(), 3U);
    EXPECT_EQ(dump->loads[0].scopes, "second");
    EXPECT_EQ(dump->loads[1].scopes, first);
    EXPECT_EQ(dump->loads[2].scopes, "");
    EXPECT_TRUE(dump->damage.empty());
  }
  const auto without = test::read_dump(all, {.scopes = false});
  ASSERT_TRUE(without);
  ASSERT_EQ(without->loads.size(), 3U);
  for (const auto& load : without->loads) EXPECT_EQ(load.scopes, "");
}

TEST(JitdumpScopes, WithoutTheirLoadTheyAreForgotten) {
  DumpBuilder builder;
  builder.header().begin(jitdump::kScopesId, 1).u64(0x1000).text("old").end();
  for (uint64_t i = 0; i <= jitdump::kMostPending; ++i) builder.load(2, 0x9000, "other", "code");
  builder.load(3, 0x1000, "late", "code");
  const auto dump = test::read_dump(builder.bytes());
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->loads.back().scopes, "");
  EXPECT_EQ(dump->damaged("jitdump scopes without their code"), 1U);
}

TEST(JitdumpScopes, RecordsWithoutTheirFields) {
  DumpBuilder builder;
  builder.header().begin(jitdump::kScopesId, 1).u32(0x1000).end();
  builder.begin(jitdump::kScopesId, 1).u64(0x1000).text("scopes").end();
  builder.load(3, 0x1000, "f", "code");
  const auto dump = test::read_dump(builder.bytes());
  ASSERT_TRUE(dump);
  EXPECT_EQ(dump->damaged("jitdump record without its fields"), 1U);
  ASSERT_EQ(dump->loads.size(), 1U);
  EXPECT_EQ(dump->loads[0].scopes, "scopes");

  DumpBuilder cut;
  cut.header().begin(jitdump::kScopesId, 1).u64(0x1000).text("scopes").end();
  const auto torn = test::read_dump(cut.cut(1));
  ASSERT_TRUE(torn);
  EXPECT_EQ(torn->damaged("jitdump that ends inside a record"), 1U);

  DumpBuilder large;
  large.header().begin(jitdump::kScopesId, 1).u64(0x1000).end(0xfffffff0U);
  const auto lie = test::read_dump(large.bytes());
  ASSERT_TRUE(lie);
  EXPECT_EQ(lie->damaged("jitdump record that is too large"), 1U);
}

TEST(JitdumpScopes, TheWriterWritesThem) {
  const std::string payload = encoded(sample());
  jitdump::Writer writer(1);
  std::string out;
  writer.header(out, 0);
  jitdump::Load load;
  load.time = 1;
  load.address = 0x1000;
  load.size = 4;
  load.name = "f";
  load.code = bytes_of("code");
  load.scopes = bytes_of(payload);
  writer.load(out, load);
  const auto dump = test::read_dump(out);
  ASSERT_TRUE(dump);
  ASSERT_EQ(dump->loads.size(), 1U);
  EXPECT_EQ(dump->loads[0].scopes, payload);
  EXPECT_TRUE(dump->damage.empty());
}

TEST(ScopesOf, LinesOfADumpBecomeRanges) {
  const jitdump::LineEntry lines[] = {
      {0x1050, 3, 0, "/b.c"}, {0x1040, 1, 0, "/a.c"}, {0x1042, 8, 0, "/a.c"},
      {0x1042, 2, 1, "/a.c"}, {0x1046, 2, 0, "/a.c"}, {0x1048, 0, 0, "/a.c"},
      {0x1052, 1, 0, "/a.c"}, {0x1060, 9, 0, "/a.c"}, {0x103f, 9, 0, "/a.c"}};
  jitdump::Load load;
  load.address = 0x1000;
  load.size = 0x20;
  load.name = "f";
  load.lines = lines;
  const CodeScopes scopes = jitdump::scopes_of(load, 0x40);
  EXPECT_EQ(scopes.methods, (std::vector<CodeScopes::Method>{{"f", "/a.c"}, {"f", "/b.c"}}));
  constexpr uint32_t none = CodeScopes::kNone;
  EXPECT_EQ(scopes.scopes,
            (std::vector<CodeScopes::Scope>{
                {none, 0, -1, 1}, {none, 0, -1, 2}, {none, 1, -1, 3}, {none, 0, -1, 1}}));
  EXPECT_EQ(scopes.ranges,
            (std::vector<CodeScopes::Range>{
                {0, 2, 0, true}, {2, 8, 1, true}, {0x10, 0x12, 2, true}, {0x12, 0x20, 3, true}}));
  EXPECT_EQ(fuzz::check_rules(scopes, load.size), "");
  EXPECT_FALSE(scopes.any_inlined());
}

TEST(ScopesOf, ScopesStandBeforeLines) {
  const std::string payload = encoded(sample());
  const jitdump::LineEntry lines[] = {{0x1000, 5, 0, "/a.c"}};
  jitdump::Load load;
  load.address = 0x1000;
  load.size = 400;
  load.name = "f";
  load.lines = lines;
  load.scopes = bytes_of(payload);
  EXPECT_EQ(jitdump::scopes_of(load, 0), sample());
  // Not whole: they lie beyond the body.
  load.size = 300;
  EXPECT_EQ(jitdump::scopes_of(load, 0).ranges,
            (std::vector<CodeScopes::Range>{{0, 300, 0, true}}));
  load.scopes = {};
  load.lines = {};
  EXPECT_EQ(jitdump::scopes_of(load, 0), CodeScopes());
}

TEST(ScopesOf, ManyFilesCostNoMoreThanSome) {
  std::vector<std::string> files;
  for (int i = 0; i < 1000; ++i) files.push_back(fmt::format("/{}", i));
  std::vector<jitdump::LineEntry> lines;
  for (size_t i = 0; i < files.size(); ++i) lines.push_back({0x1000 + i, 1, 0, files[i]});
  jitdump::Load load;
  load.address = 0x1000;
  load.size = 1000;
  load.name = "f";
  load.lines = lines;
  const CodeScopes scopes = jitdump::scopes_of(load, 0);
  EXPECT_LE(scopes.methods.size(), 257U);
  EXPECT_EQ(scopes.methods[255].file, "/255");
  ASSERT_FALSE(scopes.ranges.empty());
  EXPECT_EQ(scopes.ranges.back().end, 1000U);
  EXPECT_EQ(scopes.methods[scopes.scopes[scopes.ranges.back().scope].method].file, "");
  EXPECT_EQ(fuzz::check_rules(scopes, load.size), "");
}

}  // namespace
}  // namespace jitscope
