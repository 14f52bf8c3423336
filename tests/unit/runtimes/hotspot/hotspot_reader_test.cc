#include "runtimes/hotspot/hotspot_reader.h"

#include <gtest/gtest.h>

#include "fake_jvm.h"

namespace jitscope::hotspot::test {
namespace {

using Style = FakeJvm::Style;

class HotspotReaderTest : public testing::TestWithParam<Style> {
 protected:
  HotspotReaderTest() : jvm(GetParam()) {}
  HotspotReader open() {
    auto reader = HotspotReader::open(jvm, jvm.symbols(), CallConvention::hotspot_x86_64);
    EXPECT_TRUE(reader) << to_string(reader.error());
    return std::move(*reader);
  }
  Snapshot read(HotspotReader& reader) {
    auto snapshot = reader.read(jvm, diagnostics);
    EXPECT_TRUE(snapshot) << to_string(snapshot.error());
    return snapshot ? std::move(*snapshot) : Snapshot{};
  }
  uint64_t method_of(const std::string& holder, const std::string& name, uint16_t access = 1) {
    return jvm.add_class(holder, {{name, "(Ljava/lang/Object;[I)V", access}}).front();
  }
  [[nodiscard]] int8_t not_entrant() const { return GetParam() == Style::pointers ? 2 : 1; }

  FakeJvm jvm;
  Diagnostics diagnostics;
};

INSTANTIATE_TEST_SUITE_P(Layouts, HotspotReaderTest,
                         testing::Values(Style::pointers, Style::offsets), [](const auto& tested) {
                           return tested.param == Style::pointers ? "pointers" : "offsets";
                         });

TEST_P(HotspotReaderTest, ABodyHasAllItsParts) {
  const uint64_t method = method_of("a/b/C", "run");
  const uint64_t blob = jvm.add_nmethod({.method = method, .compile_id = 77, .level = 4});
  auto reader = open();
  const Snapshot snapshot = read(reader);
  ASSERT_EQ(snapshot.bodies.size(), 1U);
  EXPECT_EQ(snapshot.torn, 0U);
  const CodeBody& body = snapshot.bodies[0];
  EXPECT_EQ(body.address, jvm.code_of(blob));
  EXPECT_EQ(body.size, FakeJvm::kCodeBytes);
  EXPECT_EQ(body.entry, jvm.code_of(blob) + FakeJvm::kEntryOffset);
  EXPECT_EQ(body.name->display(), "a.b.C.run(java.lang.Object,int[])");
  EXPECT_EQ(body.tier, Tier::c2);
  EXPECT_EQ(body.state, BodyState::in_use);
  EXPECT_FALSE(body.osr);
  EXPECT_EQ(body.version, 77U);
  EXPECT_EQ(body.frame_bytes, 48U);
  EXPECT_EQ(body.source, SourceKind::hotspot_memory);
  EXPECT_EQ(body.convention, CallConvention::hotspot_x86_64);
  EXPECT_EQ(body.not_probeable, "");
  ASSERT_EQ(body.parameters->size(), 3U);
}

TEST_P(HotspotReaderTest, IdentityChecksHoldInTheMemoryTheyWereTakenFrom) {
  const uint64_t blob = jvm.add_nmethod({.method = method_of("A", "f"), .compile_id = 0x01020304});
  auto reader = open();
  const CodeBody body = read(reader).bodies.at(0);
  ASSERT_EQ(body.identity.size(), 3U);
  const auto holds = [&] {
    return std::ranges::all_of(body.identity, [&](const IdentityCheck& check) {
      std::vector<std::byte> now(check.expected.size());
      return jvm.read(check.address, now) && now == check.expected;
    });
  };
  EXPECT_TRUE(holds());
  jvm.put(blob + jvm.field("nmethod::_state"), not_entrant());
  EXPECT_FALSE(holds());
  jvm.put(blob + jvm.field("nmethod::_state"), int8_t{0});
  jvm.put(blob + jvm.field("nmethod::_compile_id"), uint32_t{5});
  EXPECT_FALSE(holds());
}

TEST_P(HotspotReaderTest, TiersFollowTheLevel) {
  const uint64_t method = method_of("A", "f");
  for (uint8_t level = 1; level <= 4; ++level) {
    jvm.add_nmethod({.method = method, .compile_id = level, .level = level});
  }
  auto reader = open();
  const auto bodies = read(reader).bodies;
  ASSERT_EQ(bodies.size(), 4U);
  EXPECT_EQ(bodies[0].tier, Tier::c1);
  EXPECT_EQ(bodies[1].tier, Tier::c1_limited);
  EXPECT_EQ(bodies[2].tier, Tier::c1_full);
  EXPECT_EQ(bodies[3].tier, Tier::c2);
}

TEST_P(HotspotReaderTest, StatesAreToldApart) {
  const uint64_t method = method_of("A", "f");
  jvm.add_nmethod({.method = method, .compile_id = 1, .state = 0});
  jvm.add_nmethod({.method = method, .compile_id = 2, .state = not_entrant()});
  jvm.add_nmethod({.method = method, .compile_id = 3, .state = -1});
  // Patched, state not set yet.
  jvm.add_nmethod({.method = method,
                   .compile_id = 4,
                   .entry_bytes = {0xe9, 0x00, 0x10, 0x00, 0x00, 0xc0, 0xfe, 0xff}});
  auto reader = open();
  const auto bodies = read(reader).bodies;
  ASSERT_EQ(bodies.size(), 4U);
  EXPECT_EQ(bodies[0].state, BodyState::in_use);
  EXPECT_EQ(bodies[1].state, BodyState::not_entrant);
  EXPECT_EQ(bodies[1].not_probeable, "not entrant");
  EXPECT_EQ(bodies[2].not_probeable, "not installed yet");
  EXPECT_EQ(bodies[3].state, BodyState::not_entrant);
  EXPECT_EQ(bodies[3].not_probeable, "not entrant");
}

TEST_P(HotspotReaderTest, DeadBodiesOfSweepingJvmsAreSkipped) {
  const uint64_t method = method_of("A", "f");
  jvm.add_nmethod({.method = method, .compile_id = 1});
  jvm.add_nmethod({.method = 0, .compile_id = 2, .state = 3});
  jvm.add_nmethod({.method = 0, .compile_id = 3, .state = 4});
  auto reader = open();
  const Snapshot snapshot = read(reader);
  EXPECT_EQ(snapshot.bodies.size(), 1U);
  // Without a sweeper there are no such states: the header was torn.
  EXPECT_EQ(snapshot.torn, GetParam() == Style::pointers ? 0U : 2U);
}

TEST_P(HotspotReaderTest, OsrNativeAndIntrinsicBodies) {
  jvm.add_nmethod({.method = method_of("A", "loop"), .compile_id = 1, .entry_bci = 12});
  jvm.add_nmethod(
      {.method = method_of("B", "jni", 0x0101), .compile_id = 2, .level = 0, .native_name = true});
  jvm.add_nmethod({.method = method_of("java/lang/invoke/MethodHandle", "linkToStatic", 0x0108),
                   .compile_id = 3,
                   .level = 0,
                   .native_name = true});
  auto reader = open();
  const auto bodies = read(reader).bodies;
  ASSERT_EQ(bodies.size(), 3U);
  EXPECT_TRUE(bodies[0].osr);
  EXPECT_EQ(bodies[0].not_probeable, "OSR body");
  EXPECT_EQ(bodies[1].tier, Tier::native);
  EXPECT_EQ(bodies[1].not_probeable, "");
  EXPECT_EQ(bodies[2].not_probeable, "method handle intrinsic");
}

TEST_P(HotspotReaderTest, AnInvalidatedOsrBodyOfJdk8IsStillOne) {
  const uint64_t method = method_of("A", "loop");
  const uint64_t blob =
      jvm.add_nmethod({.method = method, .state = not_entrant(), .entry_bci = 12});
  jvm.put(blob + jvm.field("nmethod::_entry_bci"), int32_t{-2});
  auto reader = open();
  const Snapshot snapshot = read(reader);
  ASSERT_EQ(snapshot.bodies.size(), 1U);
  EXPECT_EQ(snapshot.torn, 0U);
  EXPECT_TRUE(snapshot.bodies[0].osr);
  EXPECT_EQ(snapshot.bodies[0].not_probeable, "OSR body");
  jvm.put(blob + jvm.field("nmethod::_entry_bci"), int32_t{-3});
  EXPECT_EQ(read(reader).torn, 1U);
}

TEST_P(HotspotReaderTest, StubsAreNamedAndNotProbeable) {
  jvm.add_stub("Interpreter");
  jvm.add_nmethod({.method = method_of("A", "f")});
  jvm.add_stub("I2C/C2I adapters");
  auto reader = open();
  const auto bodies = read(reader).bodies;
  ASSERT_EQ(bodies.size(), 3U);
  EXPECT_EQ(bodies[0].name->display(), "Interpreter");
  EXPECT_EQ(bodies[0].tier, Tier::stub);
  EXPECT_EQ(bodies[0].not_probeable, "runtime stub");
  EXPECT_EQ(bodies[2].name->raw, "I2C/C2I adapters");
}

TEST_P(HotspotReaderTest, HiddenClassesKeepTheirAddressOnlyInRaw) {
  jvm.add_nmethod({.method = method_of("Main$$Lambda+0x00007f2c00c00a00", "apply")});
  auto reader = open();
  const CodeBody body = read(reader).bodies.at(0);
  EXPECT_EQ(body.name->type, "Main$$Lambda+<hidden>");
  EXPECT_TRUE(body.name->raw.starts_with("Main$$Lambda+0x00007f2c00c00a00.apply("));
}

TEST_P(HotspotReaderTest, ATornBlockCostsOnlyItself) {
  const uint64_t method = method_of("A", "f");
  jvm.add_nmethod({.method = method, .compile_id = 1});
  const uint64_t torn = jvm.add_nmethod({.method = method, .compile_id = 2});
  jvm.add_nmethod({.method = method, .compile_id = 3});
  for (const uint32_t length : {0U, 3U, 0x7fffffffU, 0xffffffffU}) {
    jvm.put(jvm.block_of(torn), length);
    auto reader = open();
    const Snapshot snapshot = read(reader);
    ASSERT_EQ(snapshot.bodies.size(), 2U) << length;
    EXPECT_EQ(snapshot.bodies[1].version, 3U);
    EXPECT_EQ(snapshot.torn, 1U);
  }
  EXPECT_FALSE(diagnostics.empty());
}

TEST_P(HotspotReaderTest, FreeBlocksAreNoBodies) {
  const uint64_t blob = jvm.add_nmethod({.method = method_of("A", "f")});
  jvm.put(jvm.block_of(blob) + jvm.field("HeapBlock::Header::_used"), uint8_t{0});
  auto reader = open();
  const Snapshot snapshot = read(reader);
  EXPECT_TRUE(snapshot.bodies.empty());
  EXPECT_EQ(snapshot.torn, 0U);
}

TEST_P(HotspotReaderTest, ContradictingHeadersAreTorn) {
  const uint64_t method = method_of("A", "f");
  const std::vector<std::function<void(uint64_t)>> damages = {
      [&](uint64_t blob) { jvm.put(blob + jvm.field("CodeBlob::_size"), int32_t{-1}); },
      [&](uint64_t blob) { jvm.put(blob + jvm.field("CodeBlob::_size"), int32_t{1 << 20}); },
      [&](uint64_t blob) { jvm.put(blob + jvm.field("nmethod::_state"), int8_t{9}); },
      [&](uint64_t blob) { jvm.put(blob + jvm.field("nmethod::_comp_level"), uint8_t{200}); },
      [&](uint64_t blob) { jvm.put(blob + jvm.field("nmethod::_entry_bci"), int32_t{-7}); },
      [&](uint64_t blob) {
        if (GetParam() == Style::pointers) {
          jvm.put(blob + jvm.field("nmethod::_verified_entry_point"), blob);
          return;
        }
        jvm.put(blob + jvm.field("nmethod::_verified_entry_offset"), uint16_t{0xfff0});
      },
      [&](uint64_t blob) {
        jvm.put(blob + jvm.field(GetParam() == Style::pointers ? "CompiledMethod::_method"
                                                               : "nmethod::_method"),
                uint64_t{0x123});
      },
  };
  jvm.add_nmethod({.method = method, .compile_id = 1});
  uint32_t damaged = 0;
  for (const auto& damage : damages) {
    damage(jvm.add_nmethod({.method = method, .compile_id = 100 + damaged++}));
    auto reader = open();
    const Snapshot snapshot = read(reader);
    EXPECT_EQ(snapshot.bodies.size(), 1U) << damaged;
    EXPECT_EQ(snapshot.torn, damaged);
  }
}

TEST_P(HotspotReaderTest, AnUnreadableNameIsTornNotInvented) {
  const uint64_t method = method_of("A", "f");
  jvm.add_nmethod({.method = method, .compile_id = 1});
  jvm.add_nmethod({.method = 0x7f1000fffff0, .compile_id = 2});  // behind the metaspace
  const uint64_t other = method_of("B", "g");
  jvm.add_nmethod({.method = other, .compile_id = 3});
  jvm.put(other + jvm.field("Method::_constMethod"), uint64_t{0x7f1000000001});
  auto reader = open();
  const Snapshot snapshot = read(reader);
  ASSERT_EQ(snapshot.bodies.size(), 1U);
  EXPECT_EQ(snapshot.torn, 2U);
  EXPECT_EQ(diagnostics.count("name of an nmethod not readable"), 2U);
}

TEST_P(HotspotReaderTest, AConstantPoolIndexOutOfRangeIsTorn) {
  const uint64_t method = method_of("A", "f");
  uint64_t const_method = 0;
  ASSERT_TRUE(jvm.read(method + jvm.field("Method::_constMethod"),
                       std::as_writable_bytes(std::span(&const_method, 1))));
  jvm.put(const_method + jvm.field("ConstMethod::_name_index"), uint16_t{999});
  jvm.add_nmethod({.method = method});
  auto reader = open();
  EXPECT_EQ(read(reader).torn, 1U);
}

TEST_P(HotspotReaderTest, NamesAreReadOnceForABody) {
  jvm.add_nmethod({.method = method_of("A", "f"), .compile_id = 1});
  auto reader = open();
  const Snapshot first = read(reader);
  bool touched = false;
  jvm.before_read = [&](uint64_t address) {
    touched |= address >= FakeJvm::kMetaspace + 1024 && address < FakeJvm::kMetaspace + (1 << 20);
  };
  const Snapshot second = read(reader);
  EXPECT_FALSE(touched);
  ASSERT_EQ(second.bodies.size(), 1U);
  EXPECT_EQ(second.bodies[0].name, first.bodies[0].name);
}

TEST_P(HotspotReaderTest, AnotherMethodInTheSamePlaceGetsItsOwnName) {
  const uint64_t method = method_of("A", "f");
  const uint64_t blob = jvm.add_nmethod({.method = method, .compile_id = 1});
  auto reader = open();
  EXPECT_EQ(read(reader).bodies.at(0).name->short_name(), "A.f");
  // The Method's memory was freed and holds another class's method now; so does the nmethod's.
  uint64_t const_method = 0;
  const uint64_t other = method_of("B", "g");
  ASSERT_TRUE(jvm.read(other + jvm.field("Method::_constMethod"),
                       std::as_writable_bytes(std::span(&const_method, 1))));
  jvm.put(method + jvm.field("Method::_constMethod"), const_method);
  jvm.put(blob + jvm.field("nmethod::_compile_id"), uint32_t{2});
  EXPECT_EQ(read(reader).bodies.at(0).name->short_name(), "B.g");
}

TEST_P(HotspotReaderTest, ABodyFreedWhileItsNameIsReadIsLeftOut) {
  const uint64_t method = method_of("A", "f");
  const uint64_t blob = jvm.add_nmethod({.method = method, .compile_id = 1});
  auto reader = open();
  jvm.before_read = [&](uint64_t address) {
    if (address != method) return;
    jvm.put(jvm.block_of(blob) + jvm.field("HeapBlock::Header::_used"), uint8_t{0});
  };
  const Snapshot snapshot = read(reader);
  EXPECT_TRUE(snapshot.bodies.empty());
  EXPECT_EQ(snapshot.torn, 1U);
}

TEST_P(HotspotReaderTest, AJvmThatStartsSaysSo) {
  jvm.put(jvm.heaps_static(), uint64_t{0});
  auto reader = open();
  const auto snapshot = reader.read(jvm, diagnostics);
  ASSERT_FALSE(snapshot);
  EXPECT_NE(snapshot.error().hint.find("try again"), std::string::npos);
}

TEST_P(HotspotReaderTest, ATargetThatIsGoneSaysSo) {
  jvm.add_nmethod({.method = method_of("A", "f")});
  auto reader = open();
  jvm.gone = true;
  const auto snapshot = reader.read(jvm, diagnostics);
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().kind, ErrorKind::target_gone);
}

TEST_P(HotspotReaderTest, ALayoutThatDoesNotFitIsAnErrorNotWrongBodies) {
  const uint64_t method = method_of("A", "f");
  for (uint32_t i = 0; i < 20; ++i) {
    const uint64_t blob = jvm.add_nmethod({.method = method, .compile_id = i});
    jvm.put(blob + jvm.field("nmethod::_state"), int8_t{77});
  }
  auto reader = open();
  const auto snapshot = reader.read(jvm, diagnostics);
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().kind, ErrorKind::not_possible);
}

TEST_P(HotspotReaderTest, EntriesThatAreNoEntriesAreAnError) {
  const uint64_t method = method_of("A", "f");
  for (uint32_t i = 0; i < 20; ++i) {
    jvm.add_nmethod({.method = method, .compile_id = i, .entry_bytes = {0xcc, 0xcc, 0xcc, 0xcc}});
  }
  auto reader = open();
  const auto snapshot = reader.read(jvm, diagnostics);
  ASSERT_FALSE(snapshot);
  EXPECT_NE(snapshot.error().what.find("verified entries"), std::string::npos);
}

TEST_P(HotspotReaderTest, PlacesAloneAreTheSamePlaces) {
  const uint64_t method = method_of("A", "f");
  for (uint32_t i = 0; i < 20; ++i)
    jvm.add_nmethod({.method = method, .compile_id = i, .level = 3});
  auto reader = open();
  reader.only_places();
  const auto first = read(reader).bodies;  // here entries are still looked at
  const auto bodies = read(reader).bodies;
  auto other = open();
  const auto whole = read(other).bodies;
  ASSERT_EQ(bodies.size(), 20U);
  ASSERT_EQ(first.size(), 20U);
  for (size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_EQ(bodies[i].address, whole[i].address);
    EXPECT_EQ(bodies[i].size, whole[i].size);
    EXPECT_EQ(bodies[i].entry, whole[i].entry);
    EXPECT_EQ(bodies[i].version, whole[i].version);
    EXPECT_EQ(bodies[i].tier, Tier::c1_full);
    EXPECT_EQ(bodies[i].name->raw, whole[i].name->raw);
    EXPECT_EQ(bodies[i].state, BodyState::unknown);
    EXPECT_TRUE(bodies[i].identity.empty());
  }
}

TEST_P(HotspotReaderTest, PlacesAloneFindWrongEntriesToo) {
  const uint64_t method = method_of("A", "f");
  for (uint32_t i = 0; i < 20; ++i) {
    jvm.add_nmethod({.method = method, .compile_id = i, .entry_bytes = {0xcc, 0xcc, 0xcc, 0xcc}});
  }
  auto reader = open();
  reader.only_places();
  EXPECT_FALSE(reader.read(jvm, diagnostics));
  EXPECT_FALSE(reader.read(jvm, diagnostics));
}

TEST_P(HotspotReaderTest, AMissingFieldIsNamed) {
  for (const std::string field :
       {"nmethod::_state", "nmethod::_compile_id", "CodeHeap::_segmap", "Klass::_name",
        "CodeCache::_heaps", "CodeBlob::_size", "HeapBlock::Header::_used"}) {
    jvm.build_tables({field});
    const auto reader = HotspotReader::open(jvm, jvm.symbols(), CallConvention::hotspot_x86_64);
    ASSERT_FALSE(reader) << field;
    EXPECT_EQ(reader.error().kind, ErrorKind::not_possible);
    // CodeCache::_heap, the older one, is asked for last.
    const std::string named = field == "CodeCache::_heaps" ? "CodeCache::_heap" : field;
    EXPECT_NE(reader.error().what.find(named), std::string::npos) << to_string(reader.error());
  }
}

TEST_P(HotspotReaderTest, LoadedMethodsAreThoseOfAllClasses) {
  jvm.add_class("a/A", {{"f", "()V"}, {"g", "(I)I"}});
  jvm.add_array_class();
  jvm.add_class("b/Empty", {});
  jvm.add_class("b/B", {{"<init>", "()V"}});
  auto reader = open();
  ASSERT_TRUE(reader.knows_loaded_methods());
  const auto methods = reader.loaded_methods(jvm, diagnostics);
  ASSERT_TRUE(methods) << to_string(methods.error());
  std::vector<std::string> names;
  for (const auto& name : *methods) names.push_back(name->display());
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"a.A.f()", "a.A.g(int)", "b.B.<init>()"}));
  EXPECT_TRUE(diagnostics.empty());
}

TEST_P(HotspotReaderTest, AClassListThatRunsInACircleEnds) {
  jvm.add_class("A", {{"f", "()V"}});
  const uint64_t first = jvm.last_klass();
  jvm.add_class("B", {{"f", "()V"}});
  jvm.put(first + jvm.field("Klass::_next_link"), jvm.last_klass());
  auto reader = open();
  const auto methods = reader.loaded_methods(jvm, diagnostics);
  ASSERT_TRUE(methods);
  EXPECT_EQ(methods->size(), 2U);
}

TEST_P(HotspotReaderTest, ATornClassIsCountedAndTheRestIsGiven) {
  jvm.add_class("A", {{"f", "()V"}});
  const uint64_t lost = jvm.last_klass();
  jvm.add_class("B", {{"g", "()V"}});
  jvm.put(lost + jvm.field("InstanceKlass::_methods"), uint64_t{0xdead0000});
  auto reader = open();
  const auto methods = reader.loaded_methods(jvm, diagnostics);
  ASSERT_TRUE(methods);
  ASSERT_EQ(methods->size(), 1U);
  EXPECT_EQ(methods->front()->short_name(), "B.g");
  EXPECT_EQ(diagnostics.count("methods of a class not readable"), 1U);
}

std::vector<std::string> sorted_names(
    const Result<std::vector<std::shared_ptr<const MethodName>>>& methods) {
  EXPECT_TRUE(methods) << to_string(methods.error());
  std::vector<std::string> names;
  if (!methods) return names;
  for (const auto& name : *methods) names.push_back(name->display());
  std::ranges::sort(names);
  return names;
}

TEST_P(HotspotReaderTest, LoadedMethodsComeOutOfTheDictionaryWhereLoadersHaveNoLists) {
  jvm.use_dictionary();
  const auto add = [&](const std::string& name, uint64_t bucket, bool shared = false) {
    jvm.add_class(name, {{"f", "()V"}});
    return jvm.add_to_dictionary(jvm.last_klass(), bucket, shared);
  };
  add("A", 0);
  add("B", 0, true);
  jvm.add_to_dictionary(jvm.last_klass(), 2);  // asked for by another loader too
  add("C", 3);
  jvm.add_array_class();
  jvm.add_class("NotThere", {{"f", "()V"}});
  auto reader = open();
  ASSERT_TRUE(reader.knows_loaded_methods());
  EXPECT_EQ(sorted_names(reader.loaded_methods(jvm, diagnostics)),
            (std::vector<std::string>{"A.f()", "B.f()", "C.f()"}));
  EXPECT_TRUE(diagnostics.empty());
}

TEST_P(HotspotReaderTest, ADamagedDictionaryEndsAndIsCounted) {
  jvm.use_dictionary();
  jvm.add_class("A", {{"f", "()V"}});
  const uint64_t first = jvm.add_to_dictionary(jvm.last_klass(), 1);
  jvm.add_class("B", {{"f", "()V"}});
  const uint64_t second = jvm.add_to_dictionary(jvm.last_klass(), 1);
  jvm.add_to_dictionary(0xdead0000, 2);  // no class
  jvm.put(first + 8, second);            // a circle
  auto reader = open();
  EXPECT_EQ(sorted_names(reader.loaded_methods(jvm, diagnostics)),
            (std::vector<std::string>{"A.f()", "B.f()"}));
  EXPECT_EQ(diagnostics.count("class unloaded while being read"), 1U);
  jvm.put(first + 8, uint64_t{0xdead0000});
  EXPECT_EQ(reader.loaded_methods(jvm, diagnostics)->size(), 2U);
  for (const int32_t buckets : {0, -1, INT32_MAX}) {
    jvm.put(jvm.dictionary(), buckets);
    EXPECT_FALSE(reader.loaded_methods(jvm, diagnostics)) << buckets;
  }
}

TEST_P(HotspotReaderTest, MoreClassesThanAreReadAtOnceAreAllRead) {
  jvm.use_dictionary();
  jvm.add_class("A", {{"f", "()V"}});
  jvm.add_to_dictionary(jvm.last_klass(), 0);
  // One bucket each, all of the same class: entries are read some thousand at a time.
  constexpr uint64_t kMany = 10'000;
  constexpr uint64_t kEntries = 0x7f4000000000;
  constexpr uint64_t kTable = 0x7f5000000000;
  jvm.add_region(kEntries, kMany * 24);
  jvm.add_region(kTable, kMany * 8);
  for (uint64_t i = 0; i < kMany; ++i) {
    jvm.put(kEntries + 24 * i + 16, jvm.last_klass());
    jvm.put(kTable + 8 * i, kEntries + 24 * i);
  }
  jvm.add_class("Last", {{"f", "()V"}});
  jvm.put(kEntries + 24 * (kMany - 1) + 16, jvm.last_klass());
  jvm.put(jvm.dictionary(), static_cast<int32_t>(kMany));
  jvm.put(jvm.dictionary() + 8, kTable);
  auto reader = open();
  EXPECT_EQ(sorted_names(reader.loaded_methods(jvm, diagnostics)),
            (std::vector<std::string>{"A.f()", "Last.f()"}));
  EXPECT_TRUE(diagnostics.empty());
}

TEST_P(HotspotReaderTest, AClassGraphWithFieldsTooFarOutIsNotRead) {
  // Each of a million classes would take as much memory.
  jvm.far_field = "Klass::_layout_helper";
  jvm.build_tables({});
  EXPECT_FALSE(open().knows_loaded_methods());
}

TEST_P(HotspotReaderTest, WithoutAClassGraphTheCodeIsStillRead) {
  jvm.add_nmethod({.method = method_of("A", "f")});
  jvm.build_tables({"ClassLoaderDataGraph::_head"});
  auto reader = open();
  EXPECT_FALSE(reader.knows_loaded_methods());
  EXPECT_EQ(read(reader).bodies.size(), 1U);
}

}  // namespace
}  // namespace jitscope::hotspot::test
