// HotspotReader::details() over the memory of a fake JVM.
#include "runtimes/hotspot/body_details.h"

#include <gtest/gtest.h>

#include "fake_jvm.h"
#include "runtimes/hotspot/hotspot_reader.h"

namespace jitscope::hotspot::test {
namespace {

using Style = FakeJvm::Style;

constexpr std::string_view kTorn = "nmethod changed while its lines and inlining were read";
constexpr std::string_view kUnreadable = "lines and inlining of an nmethod not readable";
constexpr std::string_view kNoLines = "line number table of a method not readable";

struct Tested {
  Style style;
  Unsigned5 form;
};

class BodyDetailsTest : public testing::TestWithParam<Tested> {
 protected:
  BodyDetailsTest() : jvm(GetParam().style, GetParam().form) {
    outer =
        jvm.add_class("a/b/Outer", {{"run", "(I)V", 1, {{0, 10}, {5, 11}, {9, 400}}}}, "Outer.java")
            .front();
    inner = jvm.add_class("a/Inner", {{"get", "()J", 9, {{0, 77}, {4, 78}}}}, "All.java").front();
  }
  void open() {
    auto opened = HotspotReader::open(jvm, jvm.symbols(), CallConvention::hotspot_x86_64);
    ASSERT_TRUE(opened) << to_string(opened.error());
    reader.emplace(std::move(*opened));
  }
  void read() {
    auto taken = reader->read(jvm, diagnostics);
    ASSERT_TRUE(taken) << to_string(taken.error());
    snapshot = std::move(*taken);
  }
  std::vector<BodyDetail> details() {
    std::vector<const CodeBody*> bodies;
    for (const CodeBody& body : snapshot.bodies) bodies.push_back(&body);
    return reader->details(jvm, diagnostics, bodies);
  }
  // run() with get() inlined at bytecode 5.
  FakeJvm::DebugSpec inlining() const {
    ScopeStream stream(jvm.form());
    const int32_t entry = stream.scope(0, 1, -1);
    const int32_t call = stream.scope(0, 1, 5);
    const int32_t inlined = stream.scope(call, 2, 4);
    return {{{32, entry}, {64, call}, {80, inlined}, {96, 0}, {120, inlined}},
            stream.bytes(),
            {outer, inner}};
  }
  static CodeScopes expected() {
    return {{{"a.b.Outer.run(int)", "a/b/Outer.java"}, {"a.Inner.get()", "a/All.java"}},
            {{CodeScopes::kNone, 0, -1, 10}, {CodeScopes::kNone, 0, 5, 11}, {1, 1, 4, 78}},
            {{0, 32, 0, false}, {32, 64, 1, false}, {64, 80, 2, false}, {96, 120, 2, false}}};
  }

  FakeJvm jvm;
  uint64_t outer = 0;
  uint64_t inner = 0;
  std::optional<HotspotReader> reader;
  Diagnostics diagnostics;
  Snapshot snapshot;
};

INSTANTIATE_TEST_SUITE_P(Layouts, BodyDetailsTest,
                         testing::Values(Tested{Style::pointers, Unsigned5::plain},
                                         Tested{Style::pointers, Unsigned5::no_zero},
                                         Tested{Style::offsets, Unsigned5::plain},
                                         Tested{Style::offsets, Unsigned5::no_zero}),
                         [](const auto& tested) {
                           return std::string(tested.param.style == Style::pointers ? "pointers"
                                                                                    : "offsets") +
                                  (tested.param.form == Unsigned5::plain ? "_plain" : "_no_zero");
                         });

TEST_P(BodyDetailsTest, LinesInliningAndFrame) {
  jvm.add_nmethod({.method = outer, .debug = inlining()});
  open();
  read();
  const auto found = details();
  ASSERT_EQ(found.size(), 1U);
  ASSERT_TRUE(found[0].scopes);
  EXPECT_EQ(*found[0].scopes, expected());
  EXPECT_EQ(found[0].scopes->methods[0].name, snapshot.bodies[0].name->display());
  EXPECT_EQ(found[0].frame.shape, FrameShape::fixed);
  EXPECT_EQ(found[0].frame.bytes, 48U);
  EXPECT_TRUE(diagnostics.empty());
}

TEST_P(BodyDetailsTest, AskedAgainNothingIsRead) {
  jvm.add_nmethod({.method = outer, .debug = inlining()});
  open();
  read();
  const auto first = details();
  jvm.reads = 0;
  const auto again = details();
  EXPECT_EQ(jvm.reads, 0U);
  EXPECT_EQ(first[0].scopes, again[0].scopes);
  // Also after another look at the heaps, and for an OSR body and one that is new.
  jvm.add_nmethod({.method = outer, .compile_id = 2, .entry_bci = 5, .debug = inlining()});
  read();
  const auto more = details();
  ASSERT_EQ(more.size(), 2U);
  EXPECT_EQ(more[0].scopes, first[0].scopes);
  ASSERT_TRUE(more[1].scopes);
  EXPECT_TRUE(snapshot.bodies[1].osr);
  EXPECT_EQ(*more[1].scopes, expected());
}

TEST_P(BodyDetailsTest, AnotherBodyAtTheSamePlaceIsReadAnew) {
  const uint64_t blob = jvm.add_nmethod({.method = outer, .compile_id = 1, .debug = inlining()});
  open();
  read();
  const auto first = details();
  jvm.put(blob + jvm.field("nmethod::_compile_id"), uint32_t{2});
  // The body of the first look is not there any more: no answer for it.
  const Snapshot old = snapshot;
  read();
  const CodeBody* gone = &old.bodies[0];
  const auto answers = reader->details(jvm, diagnostics, std::span(&gone, 1));
  EXPECT_FALSE(answers[0].scopes);
  EXPECT_EQ(answers[0].frame.shape, FrameShape::unknown);
  const auto second = details();
  ASSERT_TRUE(second[0].scopes);
  EXPECT_NE(second[0].scopes, first[0].scopes);
}

TEST_P(BodyDetailsTest, BodiesThatChangeMeanwhileAreCountedAndReadNextTime) {
  const uint64_t blob = jvm.add_nmethod({.method = outer, .compile_id = 1, .debug = inlining()});
  const uint64_t other = jvm.add_nmethod({.method = outer, .compile_id = 5, .debug = inlining()});
  open();
  read();
  // Freed and used again while its scopes are read: from the second look at its header on.
  size_t looks = 0;
  jvm.before_read = [&](uint64_t address) {
    if (address == jvm.block_of(blob) && ++looks == 2) {
      jvm.put(blob + jvm.field("nmethod::_compile_id"), uint32_t{9});
    }
  };
  auto found = details();
  EXPECT_EQ(looks, 2U);
  EXPECT_FALSE(found[0].scopes);
  EXPECT_TRUE(found[1].scopes);
  EXPECT_EQ(diagnostics.count(kTorn), 1U);
  // What was torn is not kept.
  jvm.before_read = {};
  jvm.put(blob + jvm.field("nmethod::_compile_id"), uint32_t{1});
  EXPECT_TRUE(details()[0].scopes);
  // Freed before it is read at all.
  read();
  jvm.put(other + jvm.field("nmethod::_compile_id"), uint32_t{6});
  read();
  jvm.put(jvm.block_of(other) + jvm.field("HeapBlock::Header::_used"), uint8_t{0});
  found = details();
  EXPECT_FALSE(found[1].scopes);
  EXPECT_EQ(diagnostics.count(kTorn), 2U);
}

TEST_P(BodyDetailsTest, AreasThatMoveMeanwhileAreTorn) {
  const uint64_t blob = jvm.add_nmethod({.method = outer, .debug = inlining()});
  open();
  read();
  size_t looks = 0;
  jvm.before_read = [&](uint64_t address) {
    if (address != jvm.block_of(blob) || ++looks != 2) return;
    const uint64_t field = blob + jvm.field("nmethod::_scopes_pcs_offset");
    std::array<std::byte, 4> bytes{};
    ASSERT_TRUE(jvm.read(field, bytes));
    jvm.put(field, static_cast<uint32_t>(ByteCursor(bytes).u32() + 16));
  };
  EXPECT_FALSE(details()[0].scopes);
  EXPECT_EQ(diagnostics.count(kTorn), 1U);
}

TEST_P(BodyDetailsTest, StateMayChangeMeanwhile) {
  const uint64_t blob = jvm.add_nmethod({.method = outer, .debug = inlining()});
  open();
  read();
  const int8_t not_entrant = GetParam().style == Style::pointers ? 2 : 1;
  jvm.put(blob + jvm.field("nmethod::_state"), not_entrant);
  EXPECT_TRUE(details()[0].scopes);
}

TEST_P(BodyDetailsTest, OnlyMorePcDescsThanSafepointsAreExact) {
  auto debug = inlining();
  debug.oop_maps = 2;
  jvm.add_nmethod({.method = outer, .compile_id = 1, .debug = debug});
  debug.oop_maps = -2;  // no number of oop maps
  jvm.add_nmethod({.method = outer, .compile_id = 2, .debug = debug});
  open();
  read();
  const auto found = details();
  ASSERT_TRUE(found[0].scopes && found[1].scopes);
  EXPECT_FALSE(found[0].scopes->ranges[0].exact);  // the prologue
  for (size_t i = 1; i < found[0].scopes->ranges.size(); ++i) {
    EXPECT_TRUE(found[0].scopes->ranges[i].exact);
  }
  for (const auto& range : found[1].scopes->ranges) EXPECT_FALSE(range.exact);
}

TEST_P(BodyDetailsTest, TheOopMapsOfJdk8AreCountedToo) {
  jvm.use_oop_map_set();
  auto debug = inlining();
  debug.oop_maps = 2;
  jvm.add_nmethod({.method = outer, .debug = debug});
  open();
  read();
  const auto found = details();
  ASSERT_TRUE(found[0].scopes);
  EXPECT_TRUE(found[0].scopes->ranges.back().exact);
}

TEST_P(BodyDetailsTest, FramesOfStubs) {
  jvm.add_stub("Interpreter", 0);
  jvm.add_stub("resolve_static_call", 8);
  jvm.add_stub("DeoptimizationBlob", 8);
  jvm.add_stub("I2C/C2I adapters", 0);
  open();
  read();
  const auto found = details();
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].frame.shape, FrameShape::interpreter);
  EXPECT_EQ(found[1].frame.shape, FrameShape::fixed);
  EXPECT_EQ(found[1].frame.bytes, 64U);
  EXPECT_EQ(found[2].frame.shape, FrameShape::unknown);
  EXPECT_EQ(found[3].frame.shape, FrameShape::unknown);
  for (const BodyDetail& each : found) EXPECT_FALSE(each.scopes);
}

TEST_P(BodyDetailsTest, ABodyWithoutDebugInformationIsNoDamage) {
  jvm.add_nmethod({.method = outer, .level = 0, .native_name = true});
  open();
  read();
  EXPECT_FALSE(details()[0].scopes);
  EXPECT_TRUE(diagnostics.empty());
}

TEST_P(BodyDetailsTest, DamageIsCountedOnce) {
  auto debug = inlining();
  debug.metadata = {inner, outer};  // every chain ends in another method
  jvm.add_nmethod({.method = outer, .debug = debug});
  open();
  read();
  EXPECT_FALSE(details()[0].scopes);
  EXPECT_FALSE(details()[0].scopes);
  EXPECT_EQ(diagnostics.count(kUnreadable), 1U);
}

TEST_P(BodyDetailsTest, AnInlinedMethodWithoutANameLeavesTheBodyWithoutScopes) {
  auto debug = inlining();
  debug.metadata[1] = FakeJvm::kMetaspace + (1U << 21U);
  jvm.add_nmethod({.method = outer, .debug = debug});
  open();
  read();
  EXPECT_FALSE(details()[0].scopes);
  EXPECT_EQ(diagnostics.count(kUnreadable), 1U);
}

TEST_P(BodyDetailsTest, SizesThatCannotBeAreRefused) {
  for (const char* name : {"nmethod::_scopes_pcs_offset", "CodeBlob::_relocation_size",
                           "nmethod::_metadata_offset", "nmethod::_immutable_data_size"}) {
    for (const uint32_t value : {0x7fffffffU, 0xffffffffU, 0x80000000U}) {
      FakeJvm other(GetParam().style, GetParam().form);
      const uint64_t blob = other.add_nmethod(
          {.method = other.add_class("A", {{"f", "()V"}}).front(), .debug = inlining()});
      if (!other.knows(name)) continue;
      auto opened = HotspotReader::open(other, other.symbols(), CallConvention::hotspot_x86_64);
      ASSERT_TRUE(opened);
      other.put(blob + other.field(name), value);
      Diagnostics noted;
      const auto taken = opened->read(other, noted);
      ASSERT_TRUE(taken);
      ASSERT_EQ(taken->bodies.size(), 1U);
      const CodeBody* body = taken->bodies.data();
      const auto found = opened->details(other, noted, std::span(&body, 1));
      EXPECT_FALSE(found[0].scopes) << name << " " << value;
      EXPECT_EQ(noted.count(kUnreadable), 1U) << name << " " << value;
    }
  }
}

TEST_P(BodyDetailsTest, TheFormIsTheOneThatMostNmethodsPassIn) {
  // One that by chance passes in the other form: among many it does not count.
  const Unsigned5 other = jvm.form() == Unsigned5::plain ? Unsigned5::no_zero : Unsigned5::plain;
  ScopeStream stream(other);
  const int32_t scope = stream.scope(0, 1, 0);
  jvm.add_nmethod(
      {.method = outer, .compile_id = 1, .debug = {{{32, scope}}, stream.bytes(), {outer}}});
  for (uint32_t i = 2; i < 6; ++i) {
    jvm.add_nmethod({.method = outer, .compile_id = i, .debug = inlining()});
  }
  open();
  read();
  const auto found = details();
  ASSERT_EQ(found.size(), 5U);
  EXPECT_FALSE(found[0].scopes);
  for (size_t i = 1; i < 5; ++i) {
    ASSERT_TRUE(found[i].scopes);
    EXPECT_EQ(*found[i].scopes, expected());
  }
  EXPECT_EQ(diagnostics.count(kUnreadable), 1U);
}

TEST_P(BodyDetailsTest, ADamagedLineTableLeavesTheRest) {
  const uint64_t method = jvm.add_class("C", {{"f", "()V", 1, {{0, 5}}}}).front();
  ScopeStream stream(jvm.form());
  const int32_t scope = stream.scope(0, 1, 3);
  jvm.add_nmethod({.method = method, .debug = {{{32, scope}}, stream.bytes(), {method}}});
  std::array<std::byte, 8> pointer{};
  ASSERT_TRUE(jvm.read(method + jvm.field("Method::_constMethod"), pointer));
  jvm.put(ByteCursor(pointer).u64() + jvm.field("ConstMethod::_constMethod_size"), int32_t{1});
  open();
  read();
  const auto found = details();
  ASSERT_TRUE(found[0].scopes);
  EXPECT_EQ(found[0].scopes->scopes[0].line, 0U);
  EXPECT_EQ(found[0].scopes->scopes[0].bci, 3);
  EXPECT_EQ(found[0].scopes->methods[0].file, "");
  EXPECT_EQ(diagnostics.count(kNoLines), 1U);
}

TEST_P(BodyDetailsTest, WithoutTheFieldsNamesAndFramesAreStillThere) {
  for (const char* missing :
       {"PcDesc::_pc_offset", "ConstMethod::_code_size", "nmethod::_scopes_pcs_offset", "PcDesc"}) {
    jvm.build_tables({missing});
    if (snapshot.bodies.empty()) jvm.add_nmethod({.method = outer, .debug = inlining()});
    open();
    read();
    ASSERT_EQ(snapshot.bodies.size(), 1U) << missing;
    const auto found = details();
    EXPECT_FALSE(found[0].scopes) << missing;
    EXPECT_EQ(found[0].frame.bytes, 48U) << missing;
  }
  // What may be missing costs no more than itself.
  jvm.build_tables({"ConstantPool::_source_file_name_index", "ImmutableOopMapSet::_count"});
  open();
  read();
  const auto found = details();
  ASSERT_TRUE(found[0].scopes);
  EXPECT_EQ(found[0].scopes->methods[0].file, "");
  EXPECT_EQ(found[0].scopes->scopes, expected().scopes);
}

TEST(SourcePath, PackageAndFile) {
  EXPECT_EQ(source_path("java/util/HashMap$Node", "HashMap.java"), "java/util/HashMap.java");
  EXPECT_EQ(source_path("Main", "Main.java"), "Main.java");
  EXPECT_EQ(source_path("a/Main$$Lambda/0x00007f2c00c00a00", "Main.java"), "a/Main.java");
  EXPECT_EQ(source_path("a/Main", "gen/Main.kt"), "gen/Main.kt");
  EXPECT_EQ(source_path("a/Main", ""), "");
  for (const char* file : {"/etc/passwd", "../x", "a/../../x", "..", "a/.."}) {
    EXPECT_EQ(source_path("a/Main", file), "") << file;
  }
}

}  // namespace
}  // namespace jitscope::hotspot::test
