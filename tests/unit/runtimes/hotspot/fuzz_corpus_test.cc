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

std::string memory_seed(FakeJvm::Style style) {
  FakeJvm jvm(style);
  const auto methods =
      jvm.add_class("a/Main", {{"run", "(I[Ljava/lang/String;)V", 1}, {"jni", "()J", 0x0109}});
  jvm.add_array_class();
  jvm.add_class("Main$$Lambda+0x00007f2c00c00a00", {{"apply", "()V"}});
  jvm.add_stub("Interpreter");
  jvm.add_nmethod({.method = methods[0], .compile_id = 1, .level = 3});
  jvm.add_nmethod({.method = methods[0], .compile_id = 2, .entry_bci = 7});
  jvm.add_nmethod({.method = methods[1], .compile_id = 3, .level = 0, .native_name = true});
  return jvm.serialize();
}

std::string load(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

FuzzOutcome run(std::string_view text) {
  return fuzz_hotspot(std::as_bytes(std::span(text.data(), text.size())));
}

TEST(HotspotCorpus, MemorySeedsAreReadToTheEnd) {
  const std::pair<const char*, FakeJvm::Style> seeds[] = {
      {"memory_pointers", FakeJvm::Style::pointers}, {"memory_offsets", FakeJvm::Style::offsets}};
  for (const auto& [name, style] : seeds) {
    const std::string made = memory_seed(style);
    if (std::getenv("JITSCOPE_WRITE_SEEDS") != nullptr) {
      std::ofstream(corpus() / name, std::ios::binary) << made;
    }
    // The seed in the tree is what this test makes, so it cannot go stale.
    EXPECT_TRUE(load(corpus() / name) == made) << name << ": JITSCOPE_WRITE_SEEDS=1 writes it anew";
    const FuzzOutcome outcome = run(made);
    EXPECT_EQ(outcome.bodies, 4U) << name;
    EXPECT_EQ(outcome.methods, 3U) << name;
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
    // Every byte of a small seed, a sample of a large one.
    const size_t step = text.size() / 2000 + 1;
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
  EXPECT_GE(seeds, 6U);
  EXPECT_GT(found, 10U);
}

}  // namespace
}  // namespace jitscope::hotspot::test
