// Lines and inlined functions of programs built by the compiler at hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "symbolize/elf_image.h"
#include "tests/unit/symbolize/built_program.h"

namespace jitscope {
namespace {

class SourceFramesTest : public test::BuiltProgramTest {
 protected:
  void SetUp() override {
    BuiltProgramTest::SetUp();
    if (!have("g++") || !have("nm")) GTEST_SKIP() << "g++ or nm is not installed";
    write("i.cc",
          "volatile int sink;\n"                                                         // 1
          "namespace app {\n"                                                            // 2
          "struct Box {\n"                                                               // 3
          "  inline __attribute__((always_inline)) void put(int x) {\n"                  // 4
          "    sink = x;\n"                                                              // 5
          "  }\n"                                                                        // 6
          "};\n"                                                                         // 7
          "static inline __attribute__((always_inline)) void middle(Box& b, int x) {\n"  // 8
          "  b.put(x * 5);\n"                                                            // 9
          "}\n"                                                                          // 10
          "__attribute__((noinline)) void outer(int x) {\n"                              // 11
          "  Box b;\n"                                                                   // 12
          "  middle(b, x);\n"                                                            // 13
          "}\n"                                                                          // 14
          "}\n"                                                                          // 15
          "int main(int argc, char**) { app::outer(argc); return 0; }\n");               // 16
  }
  // The frames of the first address whose innermost line is 5.
  std::vector<SourceFrame> frames_of_store(const std::string& name) {
    const uint64_t start = address_of(name, "_ZN3app5outerEi");
    auto image = ElfImage::open(path(name), {});
    if (start == 0 || !image) return {};
    for (uint64_t address = start; address < start + 64; ++address) {
      auto frames = (*image)->source_frames(address);
      if (!frames.empty() && frames[0].line == 5) return frames;
    }
    return {};
  }
};

TEST_F(SourceFramesTest, InnermostFirst) {
  for (const char* const flags : {"-gdwarf-5", "-gdwarf-4", "-gdwarf-3 -gstrict-dwarf"}) {
    ASSERT_TRUE(run(std::string("g++ -O2 ") + flags + " i.cc -o i")) << output_;
    const auto frames = frames_of_store("i");
    ASSERT_EQ(frames.size(), 3U) << flags;
    EXPECT_EQ(frames[0].function, "app::Box::put");
    EXPECT_EQ(frames[1].function, "app::middle");
    EXPECT_EQ(frames[1].line, 9U);
    EXPECT_EQ(frames[2].function, "app::outer");
    EXPECT_EQ(frames[2].line, 13U);
    for (const SourceFrame& frame : frames) EXPECT_THAT(frame.file, testing::EndsWith("i.cc"));
  }
}

TEST_F(SourceFramesTest, OfClangToo) {
  std::string clang;
  for (const char* const name : {"clang++-19", "clang++"}) {
    if (clang.empty() && have(name)) clang = name;
  }
  if (clang.empty()) GTEST_SKIP() << "clang++ is not installed";
  ASSERT_TRUE(run(clang + " -O2 -g i.cc -o c")) << output_;
  const auto frames = frames_of_store("c");
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_THAT(frames[0].function, testing::HasSubstr("put"));
  EXPECT_THAT(frames[1].function, testing::HasSubstr("middle"));
  EXPECT_EQ(frames[2].function, "app::outer");
  EXPECT_EQ(frames[2].line, 13U);
}

TEST_F(SourceFramesTest, LinesWithoutFunctions) {
  ASSERT_TRUE(run("g++ -O2 -g1 i.cc -o one")) << output_;
  EXPECT_FALSE(frames_of_store("one").empty());
  write("a.s",
        ".text\n.globl in_assembler\n.type in_assembler,@function\nin_assembler:\n nop\n ret\n"
        ".size in_assembler, .-in_assembler\n");
  ASSERT_TRUE(run("g++ -c -g a.s -o a.o && g++ i.cc a.o -o a")) << output_;
  const uint64_t start = address_of("a", "in_assembler");
  auto image = ElfImage::open(path("a"), {});
  ASSERT_TRUE(image);
  const auto frames = (*image)->source_frames(start + 1);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].function, "in_assembler");
  EXPECT_THAT(frames[0].file, testing::EndsWith("a.s"));
  EXPECT_EQ(frames[0].line, 6U);
}

TEST_F(SourceFramesTest, NoneWithoutDebugInformation) {
  ASSERT_TRUE(run("g++ -O2 i.cc -o plain")) << output_;
  EXPECT_TRUE(frames_of_store("plain").empty());
}

TEST_F(SourceFramesTest, FileThatWasReplacedIsNotRead) {
  ASSERT_TRUE(run("g++ -O2 -g i.cc -o i")) << output_;
  const uint64_t start = address_of("i", "_ZN3app5outerEi");
  auto image = ElfImage::open(path("i"), {});
  ASSERT_TRUE(image);
  ASSERT_TRUE(run("cp i copy && echo 'int more;' >>i.cc && g++ -O0 -g i.cc -o new && mv new i"));
  EXPECT_TRUE((*image)->source_frames(start).empty());
}

TEST_F(SourceFramesTest, StringsSharedByDwz) {
  if (!have("dwz")) GTEST_SKIP() << "dwz is not installed";
  ASSERT_TRUE(run("g++ -O2 -g i.cc -o i && cp i j && dwz -m shared i j")) << output_;
  EXPECT_EQ(frames_of_store("i").size(), 3U);
  // Without the shared file nothing is made up, and nothing else is opened in its place.
  ASSERT_TRUE(run("rm shared && mkfifo shared")) << output_;
  EXPECT_TRUE(frames_of_store("i").empty());
}

TEST_F(SourceFramesTest, DamageInDebugSectionsIsSurvived) {
  ASSERT_TRUE(run("g++ -O2 -g i.cc -o i")) << output_;
  const uint64_t start = address_of("i", "_ZN3app5outerEi");
  const std::string whole = read("i");
  size_t answered = 0;
  for (size_t round = 0; round < 200; ++round) {
    std::string damaged = whole;
    // Behind the code: debug sections, their headers.
    for (size_t i = 0; i < 8; ++i) {
      const size_t at = damaged.size() / 2 + (round * 7919 + i * 104729) % (damaged.size() / 2);
      damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(1U << (round % 8)));
    }
    const auto bytes = std::as_bytes(std::span(damaged));
    auto image = ElfImage::from_memory({bytes.begin(), bytes.end()}, "damaged");
    if (!image) continue;
    answered += (*image)->source_frames(start).empty() ? 0 : 1;
  }
  EXPECT_GT(answered, 0U);
}

}  // namespace
}  // namespace jitscope
