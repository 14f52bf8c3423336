// The fuzz target over its seeds and damaged copies of them. The memory seeds are the fake JVMs of
// these tests; run with JITSCOPE_WRITE_SEEDS=1 to write them anew.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fake_jvm.h"
#include "fuzz/hotspot_check.h"

namespace jitscope::hotspot::test {
namespace {

std::filesystem::path corpus() {
  return std::filesystem::path(JITSCOPE_SOURCE_DIR) / "fuzz" / "corpus" / "hotspot";
}

std::string memory_seed(FakeJvm::Style style, bool dictionary = false) {
  FakeJvm jvm(style);
  if (dictionary) {
    jvm.use_dictionary();
    jvm.use_oop_map_set();
    jvm.use_jdk_version(8, "VM (25.1-b01) for linux JRE (1.8.0_1-b01), built");
    jvm.use_flags({{"UseSerialGC", true}, {"NMethodRelocation", true}});
  }
  const auto methods = jvm.add_class("a/Main",
                                     {{"run", "(I[Ljava/lang/String;)V", 1, {{0, 12}, {9, 300}}},
                                      {"jni", "()J", 0x0109},
                                      {"inner", "()V", 1, {{0, 20}}}},
                                     "Main.java");
  if (dictionary) jvm.add_to_dictionary(jvm.last_klass(), 1);
  jvm.add_array_class();
  jvm.add_class("Main$$Lambda+0x00007f2c00c00a00", {{"apply", "()V"}});
  if (dictionary) jvm.add_to_dictionary(jvm.last_klass(), 1, true);
  jvm.add_stub("Interpreter");
  ScopeStream stream(jvm.form());
  const int32_t own = stream.scope(0, 1, 9);
  const int32_t inner = stream.scope(own, 2, 0);
  jvm.add_nmethod({.method = methods[0],
                   .compile_id = 1,
                   .level = 3,
                   .debug = {{{32, own}, {64, inner}}, stream.bytes(), {methods[0], methods[2]}}});
  jvm.add_nmethod({.method = methods[0], .compile_id = 2, .entry_bci = 7});
  jvm.add_nmethod({.method = methods[1], .compile_id = 3, .level = 0, .native_name = true});
  return jvm.serialize();
}

// Two scopes and three ranges, as fuzz_debug() wants them.
std::string debug_seed(Unsigned5 form) {
  ScopeStream stream(form);
  const int32_t own = stream.scope(0, 1, 9);
  const int32_t inner = stream.scope(own, 2, 300);
  std::string pcs;
  std::string metadata;
  const auto number = [](std::string& out, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i));
  };
  for (const auto& [pc, scope] : std::vector<std::pair<int32_t, int32_t>>{
           {-1, 0}, {32, own}, {64, inner}, {80, 0}, {90, own}, {4097, 0}}) {
    number(pcs, static_cast<uint32_t>(pc), 4);
    number(pcs, static_cast<uint32_t>(scope), 4);
    number(pcs, 0, 8);
  }
  number(metadata, 0x1000, 8);
  number(metadata, 0x2000, 8);
  std::string seed = "D";
  number(seed, form == Unsigned5::no_zero ? 1 : 0, 1);
  number(seed, pcs.size(), 4);
  number(seed, stream.bytes().size(), 4);
  return seed + pcs + stream.bytes() + metadata;
}

std::string lines_seed(Unsigned5 form) {
  return std::string("L") + (form == Unsigned5::no_zero ? '\1' : '\0') +
         line_table({{0, 300}, {5, 301}, {9, 305}, {200, 40}}, form);
}

std::string load(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

FuzzOutcome run(std::string_view text) {
  return fuzz_hotspot(std::as_bytes(std::span(text.data(), text.size())));
}

// The seed in the tree is what this test makes, so it cannot go stale.
void expect_seed(const std::string& name, const std::string& made) {
  if (std::getenv("JITSCOPE_WRITE_SEEDS") != nullptr) {
    std::ofstream(corpus() / name, std::ios::binary) << made;
  }
  EXPECT_TRUE(load(corpus() / name) == made) << name << ": JITSCOPE_WRITE_SEEDS=1 writes it anew";
}

TEST(HotspotCorpus, DebugAndLineSeedsAreReadToTheEnd) {
  for (const Unsigned5 form : {Unsigned5::plain, Unsigned5::no_zero}) {
    const std::string suffix = form == Unsigned5::plain ? "_plain" : "_no_zero";
    expect_seed("debug" + suffix, debug_seed(form));
    EXPECT_EQ(run(debug_seed(form)).ranges, 3U);
    expect_seed("lines" + suffix, lines_seed(form));
    EXPECT_EQ(run(lines_seed(form)).lines, 1U);
  }
}

TEST(HotspotCorpus, MemorySeedsAreReadToTheEnd) {
  struct Seed {
    const char* name;
    FakeJvm::Style style;
    bool dictionary;
  };
  for (const auto& [name, style, dictionary] :
       {Seed{"memory_pointers", FakeJvm::Style::pointers, false},
        Seed{"memory_offsets", FakeJvm::Style::offsets, false},
        Seed{"memory_dictionary", FakeJvm::Style::pointers, true}}) {
    const std::string made = memory_seed(style, dictionary);
    expect_seed(name, made);
    const FuzzOutcome outcome = run(made);
    EXPECT_EQ(outcome.bodies, 4U) << name;
    EXPECT_EQ(outcome.methods, 4U) << name;
    EXPECT_EQ(outcome.ranges, 2U) << name;
    EXPECT_EQ(outcome.inlined, 1U) << name;
    EXPECT_EQ(outcome.lines, 2U) << name;
  }
}

TEST(HotspotCorpus, SeedsAndDamagedCopiesOfThem) {
  size_t seeds = 0;
  size_t found = 0;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(corpus(), error)) {
    ++seeds;
    std::string text = load(file.path());
    const FuzzOutcome outcome = run(text);
    found += outcome.bodies + outcome.methods + outcome.texts + outcome.notes;
    // Every byte of a small seed, a sample of a large one; the fuzz target flips the others.
    const size_t step = text.size() / 500 + 1;
    for (size_t i = 1; i < text.size(); i += step) {
      (void)run(std::string_view(text).substr(0, i));
      for (const char flip : {'\x01', '\x80', '\xff'}) {
        text[i] = static_cast<char>(text[i] ^ flip);
        (void)run(text);
        text[i] = static_cast<char>(text[i] ^ flip);
      }
    }
  }
  EXPECT_FALSE(error) << error.message();
  EXPECT_GE(seeds, 10U);
  EXPECT_GT(found, 10U);
}

}  // namespace
}  // namespace jitscope::hotspot::test
