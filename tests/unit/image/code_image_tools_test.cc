// Code images as other people's tools take them. Each test runs one tool, and skips where it is not
// installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <fstream>
#include <random>
#include <sstream>

#include "tests/support/scratch_folder.h"
#include "tests/support/shell.h"
#include "tests/unit/image/written_image.h"

namespace jitscope {
namespace {

using test::image_kinds;
using test::image_options;
using test::ImageKind;
using test::ImageLayout;
using test::inlined_body;
using test::SampleBody;
using test::WrittenImage;
using testing::HasSubstr;
using testing::Not;

// Nothing when the shell cannot find it.
std::optional<std::string> run(const std::string& command) {
  return test::shell(command);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// A few hundred bodies of every sort in some stretches.
std::vector<SampleBody> sample_bodies(ImageKind kind) {
  std::vector<SampleBody> bodies;
  uint64_t at = kind.layout == ImageLayout::mapped ? 0x10000 : 0x7f00'0000'0000;
  for (int i = 0; i < 300; ++i) {
    if (i % 100 == 99) at += 3U << 20U;
    SampleBody body = inlined_body(at, fmt::format("pkg.Table.method{}", i));
    if (i % 7 == 3) body.scopes = {};
    if (i % 11 == 5) {
      body.code.clear();
      body.size = 64;
    }
    if (i % 3 == 0) body.unwind = {test::flat_unwind(64)};
    at += 64 + (i % 4 == 0 ? 32 : 0);
    bodies.push_back(std::move(body));
  }
  SampleBody odd;
  odd.begin = at;
  odd.name = "\xff\xfe\n; [x] y@z";
  odd.alias = std::string(5000, '(');
  odd.code = test::some_code(64, 1);
  odd.scopes = {{{"o", ""}, {"", "a\tb/\xff.js"}},
                {{CodeScopes::kNone, 0, -1, UINT32_MAX}, {0, 1, -1, INT32_MAX}},
                {{3, 9, 1, false}, {20, 22, 0, false}}};
  bodies.push_back(odd);
  return bodies;
}

// In a stretch of its own, of which no byte is known.
std::vector<SampleBody> with_unknown(std::vector<SampleBody> bodies) {
  SampleBody last;
  last.begin = bodies.back().begin + (5U << 20U);
  last.name = "nothing.Known.here";
  last.size = 0x300;
  bodies.push_back(last);
  return bodies;
}

std::string describe(ImageKind kind) {
  return fmt::format("{} DWARF {}", kind.layout == ImageLayout::mapped ? "mapped" : "absolute",
                     kind.dwarf);
}

#define SKIP_WITHOUT(output, tool) \
  if (!(output)) GTEST_SKIP() << (tool) << " is not installed"

TEST(CodeImageTools, ReadelfWarnsOfNothing) {
  for (const ImageKind kind : image_kinds) {
    const WrittenImage image(with_unknown(sample_bodies(kind)),
                             image_options(kind.layout, kind.dwarf));
    ASSERT_TRUE(image.status());
    for (const std::string_view options : {"-aW", "-w", "--debug-dump=decodedline"}) {
      const auto output = run(fmt::format("readelf {} {} 2>&1", options, image.path()));
      SKIP_WITHOUT(output, "readelf");
      EXPECT_THAT(*output, testing::EndsWith("status=0\n"));
      for (const std::string& line : lines_of(*output)) {
        EXPECT_THAT(line, Not(HasSubstr("arning"))) << describe(kind) << options;
        EXPECT_THAT(line, Not(HasSubstr("Error"))) << describe(kind) << options;
      }
    }
  }
}

TEST(CodeImageTools, ElflintFindsNoErrors) {
  for (const ImageKind kind : image_kinds) {
    const WrittenImage image(sample_bodies(kind), image_options(kind.layout, kind.dwarf));
    ASSERT_TRUE(image.status());
    const WrittenImage empty({}, image_options(kind.layout, kind.dwarf));
    for (const WrittenImage* file : {&image, &empty}) {
      const auto output = run(fmt::format("eu-elflint --gnu-ld {} 2>&1", file->path()));
      SKIP_WITHOUT(output, "eu-elflint");
      EXPECT_EQ(*output, "No errors\nstatus=0\n") << describe(kind);
    }
  }
}

// Code that is there but not known has no kind of section that it would take: accepted.
TEST(CodeImageTools, ElflintObjectsOnlyToStretchesWithoutBytes) {
  for (const ImageKind kind : image_kinds) {
    const WrittenImage image(with_unknown(sample_bodies(kind)),
                             image_options(kind.layout, kind.dwarf));
    ASSERT_TRUE(image.status());
    const auto output = run(fmt::format("eu-elflint --gnu-ld {} 2>&1", image.path()));
    SKIP_WITHOUT(output, "eu-elflint");
    EXPECT_THAT(lines_of(*output),
                testing::ElementsAre(
                    HasSubstr("'.text.4' has unexpected type 8 for an executable section"),
                    HasSubstr("is executable but contains no executable sections"), "status=1"))
        << describe(kind);
  }
}

TEST(CodeImageTools, LlvmDwarfdumpVerifies) {
  for (const ImageKind kind : image_kinds) {
    const WrittenImage image(with_unknown(sample_bodies(kind)),
                             image_options(kind.layout, kind.dwarf));
    ASSERT_TRUE(image.status());
    const auto output = run(fmt::format("llvm-dwarfdump --verify {} 2>&1", image.path()));
    SKIP_WITHOUT(output, "llvm-dwarfdump");
    EXPECT_THAT(*output, HasSubstr("No errors.\nstatus=0\n")) << describe(kind);
    EXPECT_THAT(*output, Not(HasSubstr("warning"))) << describe(kind);
  }
}

// Addresses of an image and their chains: "function\nfile:line\n" from the inside out.
struct Question {
  uint64_t address = 0;
  std::string answer;
};
std::vector<Question> questions(const std::vector<SampleBody>& bodies) {
  constexpr std::string_view hash = "pkg.Hash.hash(int)\n/src/pkg/Hash.java:";
  std::vector<Question> all;
  for (const SampleBody& body : bodies) {
    if (body.scopes.ranges.size() != 7) continue;  // another one than inlined_scopes()
    const auto own = [&](int line) {
      return fmt::format("{}\n/src/pkg/Table.java:{}\n", body.alias, line);
    };
    all.push_back({body.begin, own(10)});
    all.push_back({body.begin + 9, fmt::format("{}5\n{}", hash, own(12))});
    all.push_back(
        {body.begin + 23,
         fmt::format("pkg.Mixer.mix(int)\n/src/pkg/Mixer.java:70\n{}6\n{}", hash, own(12))});
    all.push_back({body.begin + 31, own(14)});
    all.push_back({body.begin + 39, fmt::format("{}7\n{}", hash, own(12))});
    all.push_back({body.begin + 63, own(20)});
  }
  return all;
}

class CodeImageAnswers : public test::ScratchFolderTest {
 protected:
  // Asks `command` all addresses, one a line on its standard input; its answers, each ended by an
  // empty line, are made one text an answer.
  void ask(const std::string& tool, const std::string& command, const std::string& separator,
           auto normal) {
    for (const ImageKind kind : image_kinds) {
      const auto bodies = sample_bodies(kind);
      const WrittenImage image(bodies, image_options(kind.layout, kind.dwarf));
      ASSERT_TRUE(image.status());
      const auto asked = questions(bodies);
      ASSERT_GT(asked.size(), 1000u);
      std::string input;
      for (const Question& question : asked) input += fmt::format("{:#x}\n", question.address);
      const std::string file = write("addresses", input);
      const auto output = run(fmt::format("{} {} < {} 2>&1", command, image.path(), file));
      SKIP_WITHOUT(output, tool);
      std::vector<std::string> answers;
      for (const std::string& line : lines_of(*output)) {
        if (line.starts_with(separator) && (separator.empty() ? line.empty() : true)) {
          if (!separator.empty() || answers.empty() || !answers.back().empty())
            answers.emplace_back();
          continue;
        }
        if (line.starts_with("status=")) continue;
        if (answers.empty()) answers.emplace_back();
        answers.back() += normal(line) + "\n";
      }
      if (!answers.empty() && answers.back().empty()) answers.pop_back();
      ASSERT_EQ(answers.size(), asked.size()) << describe(kind) << *output;
      size_t wrong = 0;
      for (size_t i = 0; i < asked.size() && wrong < 5; ++i) {
        EXPECT_EQ(answers[i], asked[i].answer)
            << describe(kind) << fmt::format(" {:#x}", asked[i].address);
        wrong += answers[i] != asked[i].answer ? 1 : 0;
      }
    }
  }
};

TEST_F(CodeImageAnswers, Addr2line) {
  ask("addr2line", "addr2line -a -i -f -e", "0x", [](const std::string& line) { return line; });
}

TEST_F(CodeImageAnswers, LlvmSymbolizer) {
  ask("llvm-symbolizer", "llvm-symbolizer --inlines -e", "", [](const std::string& line) {
    return line.ends_with(":0") ? line.substr(0, line.size() - 2) : line;  // the column
  });
}

TEST_F(CodeImageAnswers, Gdb) {
  for (const ImageKind kind : image_kinds) {
    const auto bodies = with_unknown(sample_bodies(kind));
    const WrittenImage image(bodies, image_options(kind.layout, kind.dwarf));
    ASSERT_TRUE(image.status());
    const uint64_t begin = bodies[1].begin;
    std::string script;
    script += fmt::format("info symbol {:#x}\n", begin + 9);
    script += fmt::format("info line *{:#x}\n", begin + 20);
    script += fmt::format("disassemble {:#x},+6\n", begin + 8);
    script += "break pkg.Table.method1\n";
    script += fmt::format("info symbol {:#x}\n", bodies.back().begin + 0x2ff);
    script += fmt::format("info line *{:#x}\n", bodies[bodies.size() - 2].begin + 5);
    const auto output =
        run(fmt::format("gdb -batch -nx -x {} {} 2>&1", write("script", script), image.path()));
    SKIP_WITHOUT(output, "gdb");
    EXPECT_THAT(*output, testing::ContainsRegex("pkg.Table.method1[^ ]* \\+ 9 in section .text"));
    EXPECT_THAT(*output, HasSubstr("Line 70 of \""));
    EXPECT_THAT(*output, HasSubstr("pkg/Mixer.java\" starts at address"));
    EXPECT_THAT(*output, testing::ContainsRegex("\\+8>:\tmov    \\$0x[0-9a-f]+,%eax"));
    EXPECT_THAT(*output,
                testing::ContainsRegex("Breakpoint 1 at 0x[0-9a-f]+: file .*pkg/Table.java, line"));
    EXPECT_THAT(*output, HasSubstr("nothing.Known.here + 767 in section .text"));
    EXPECT_THAT(*output, HasSubstr("Line 2147483647 of \""));
    EXPECT_THAT(*output, Not(HasSubstr("warning"))) << describe(kind);
  }
}

// A unit without a name makes gdb 13 crash, one without code any tool.
TEST_F(CodeImageAnswers, GdbTakesAnImageWithoutTitleOrLines) {
  for (const unsigned dwarf : {4U, 5U}) {
    CodeImageOptions options;
    options.dwarf = dwarf;
    SampleBody body;
    body.begin = 0x400000;
    body.name = "pkg.Some.name";
    body.code = test::some_code(64, 1);
    const WrittenImage image({body}, options);
    const auto output =
        run(fmt::format("gdb -batch -nx -ex 'info line *0x400010' {} 2>&1", image.path()));
    SKIP_WITHOUT(output, "gdb");
    EXPECT_EQ(*output,
              "No line number information available for address 0x400010 <pkg.Some.name+16>\n"
              "status=0\n");
  }
}

TEST_F(CodeImageAnswers, BpftraceListsTheSymbols) {
  if (::geteuid() != 0) GTEST_SKIP() << "bpftrace needs root";
  for (const ImageKind kind : image_kinds) {
    const WrittenImage image(with_unknown(sample_bodies(kind)),
                             image_options(kind.layout, kind.dwarf));
    ASSERT_TRUE(image.status());
    const std::string path = folder_ + "/image";
    std::filesystem::copy_file(image.path(), path,
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    const auto output = run(fmt::format("bpftrace -l 'uprobe:{}:*' 2>&1", path));
    SKIP_WITHOUT(output, "bpftrace");
    EXPECT_THAT(lines_of(*output),
                testing::IsSupersetOf({fmt::format("uprobe:{}:pkg.Table.method7", path),
                                       fmt::format("uprobe:{}:nothing.Known.here", path)}));
  }
}

TEST_F(CodeImageAnswers, ObjdumpShowsTheInstructionsWithTheirLines) {
  for (const ImageKind kind : image_kinds) {
    const auto bodies = sample_bodies(kind);
    const WrittenImage image(bodies, image_options(kind.layout, kind.dwarf));
    ASSERT_TRUE(image.status());
    const auto output = run(fmt::format(
        "objdump -d -l --no-show-raw-insn --start-address={:#x} --stop-address={:#x} {} 2>&1",
        bodies[1].begin, bodies[1].begin + 64, image.path()));
    SKIP_WITHOUT(output, "objdump");
    EXPECT_THAT(*output, HasSubstr("<pkg.Table.method1>:"));
    EXPECT_THAT(*output, HasSubstr("/src/pkg/Mixer.java:70"));
    EXPECT_THAT(*output, HasSubstr("ret"));
    EXPECT_THAT(*output, Not(HasSubstr("arning")));
  }
}

}  // namespace
}  // namespace jitscope
