// Folded text: what FlameGraph's readers expect, and back.
#include "render/folded.h"

#include "render/folded_escape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <sstream>

#include "fuzz/folded_check.h"
#include "render/folded_sides.h"
#include "sample_profile.h"

namespace jitscope {
namespace {

using namespace std::string_view_literals;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Folded, MarksCommAndUnnamedFrames) {
  const std::string hash = "java.util.HashMap.hash(java.lang.Object)_[i]";
  const std::string put = "java.util.HashMap.put(java.lang.Object,java.lang.Object)_[j]";
  const std::string main =
      "java;start_thread;StubRoutines (call)_[j];org.example.Main.main(java.lang.String[])_[j];";
  EXPECT_THAT(lines_of(folded_text(test::sample_profile())),
              UnorderedElementsAre(
                  main + put + ";" + hash + " 40",
                  main + put + " 15",  // both tiers
                  main + "org.example.Cache.get(int)?_[j];" + put + ";" + put + " 7",
                  main + "[memfd:jit (deleted)] 4", main + put + ";entry_SYSCALL_64_[k] 9",
                  "java;[unknown] 1",
                  "C2_Compiler;start_thread;Compile::Code_Gen();Node::grow(unsigned int)_[i] 20",
                  "C2_Compiler;start_thread;Compile::Code_Gen() 4",
                  "node;start_thread;handle /srv/app/server.js:12:7_[j] 12",
                  "node;start_thread;handle /srv/app/server.js:12:7_[j];"
                  "</script><img src=x onerror=alert(1)>\\x3b\\x0a\"quoted\" \\xff_[j] 8"));
}

TEST(Folded, ThreadsEventsAndWeights) {
  FoldedOptions options;
  options.per_thread = true;
  const std::string by_thread = folded_text(test::sample_profile(), options);
  EXPECT_THAT(by_thread, HasSubstr("C2_Compiler-100/101;start_thread;Compile::Code_Gen() 4\n"));
  EXPECT_THAT(by_thread, HasSubstr("java-100/100;[unknown] 1\n"));
  options = {};
  options.event = 1;
  options.measure = Measure::weight;
  const auto faults = lines_of(folded_text(test::sample_profile(), options));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_THAT(faults[0], HasSubstr("asm_exc_page_fault_[k] 30000000"));
  options.event = 7;
  EXPECT_EQ(folded_text(test::sample_profile(), options), "");
  EXPECT_EQ(folded_text(Profile{}), "");
  options = {};
  options.unknown_as_dso = false;
  EXPECT_THAT(folded_text(test::sample_profile(), options), HasSubstr(";[unknown] 4\n"));
}

TEST(Folded, HidesNothingFromATerminalAndComesBack) {
  const std::string name = "a\x1b[2J\xc2\x9b\x9b\xe2\x80\xae;\r\n日";
  const std::string text = folded_escape(name);
  EXPECT_EQ(text, "a\\x1b[2J\\xc2\\x9b\\x9b\\xe2\\x80\\xae\\x3b\\x0d\\x0a日");
  EXPECT_EQ(folded_unescape(text), name);
}

TEST(Folded, PiecesAreWholeLines) {
  std::mt19937 random(3);
  test::ProfileBuilder b;
  b.profile.events = {{"cpu-clock", "nanoseconds"}};
  b.profile.groups = {{1, 1, "a", "a"}};
  StackId last = kRootStack;
  for (int i = 0; i < 400; ++i) {
    b.frame(test::named("method_number_" + std::to_string(i), "x", FrameKind::jit,
                        NameSource::jitdump));
    b.profile.nodes.push_back({last, static_cast<FrameId>(i)});
    last = static_cast<StackId>(i + 1);
    b.add(0, last, 1 + random() % 9);
  }
  size_t pieces = 0;
  std::string all;
  write_folded(b.profile, {}, [&](std::string_view piece) {
    EXPECT_TRUE(piece.ends_with('\n'));
    ++pieces;
    all += piece;
  });
  EXPECT_GE(pieces, 2u);
  EXPECT_EQ(lines_of(all).size(), 400u);
}

std::map<std::string, uint64_t> counts_of(const Profile& profile) {
  std::map<std::string, uint64_t> counts;
  for (const StackWeight& each : profile.stacks) {
    std::string text;
    for (const FrameId frame : profile.frames_of(each.stack)) {
      text = ";" + profile.frames[frame].method + text;
    }
    counts[text.substr(std::min<size_t>(text.size(), 1))] += each.samples;
  }
  return counts;
}

TEST(FoldedReader, LinesOfAllKinds) {
  Diagnostics diagnostics;
  const Profile profile = parse_folded(
      "# a comment\n"
      "main;work;put_[j] 3\r\n"
      "main;work 2\n"
      "main;work;put_[j] 4\n"
      "main;two words 5.9\n"
      "\n"
      "main;read_[k]\t1\n"
      "main;small_[i] 6\n"
      "main;[libm.so.6];[unknown] 7\n"
      "a\\x3bb 1",
      diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  EXPECT_THAT(
      counts_of(profile),
      UnorderedElementsAre(testing::Pair("main;work;put", 70), testing::Pair("main;work", 20),
                           testing::Pair("main;two words", 59), testing::Pair("main;read", 10),
                           testing::Pair("main;small", 60), testing::Pair("main;;", 70),
                           testing::Pair("a;b", 10)));
  EXPECT_EQ(profile.samples, 299u);
  EXPECT_EQ(profile.events[0].name, "samples (in 1/10)");
  std::map<std::string, FrameKind> kinds;
  for (const Frame& frame : profile.frames) kinds[frame.method + frame.dso] = frame.kind;
  EXPECT_EQ(kinds["put"], FrameKind::jit);
  EXPECT_EQ(kinds["read"], FrameKind::kernel);
  EXPECT_EQ(kinds["small"], FrameKind::jit_inlined);
  EXPECT_EQ(kinds["main"], FrameKind::native);
  EXPECT_EQ(kinds["libm.so.6"], FrameKind::unknown);
  ASSERT_EQ(profile.groups.size(), 1u);
  EXPECT_EQ(profile.groups[0].comm, "");
}

TEST(FoldedReader, FractionsAreKept) {
  Diagnostics diagnostics;
  const Profile small = parse_folded("a;b 0.0013\na;c 2.\na;d 1.50\n", diagnostics);
  EXPECT_THAT(counts_of(small),
              UnorderedElementsAre(testing::Pair("a;b", 13), testing::Pair("a;c", 20000),
                                   testing::Pair("a;d", 15000)));
  EXPECT_EQ(small.events[0].name, "samples (in 1/10000)");
  EXPECT_EQ(small.samples, 35013u);
  const Profile whole = parse_folded("a;b 3.0\na;c 2\n", diagnostics);
  EXPECT_EQ(whole.samples, 5u);
  EXPECT_EQ(whole.events[0].name, "samples");
  EXPECT_TRUE(diagnostics.empty());
  // What would not fit in the smaller unit is left out, with its line; the rest stands.
  const Profile large = parse_folded("a;b 9223372036854775807\na;c 0.5\n", diagnostics);
  EXPECT_EQ(large.samples, 9223372036854775807u);
  ASSERT_EQ(diagnostics.entries().size(), 1u);
  EXPECT_EQ(diagnostics.entries()[0].first, "line 2: a;c 0.5");
}

TEST(FoldedReader, TwoCountsOfEachLine) {
  Diagnostics diagnostics;
  const Profile both = parse_folded("# difffolded\nmain;a 10 4\nmain;b 0 2.5\n", diagnostics);
  EXPECT_TRUE(diagnostics.empty());
  ASSERT_TRUE(has_two_sides(both));
  const auto [before, after] = split_sides(both);
  EXPECT_THAT(counts_of(before), UnorderedElementsAre(testing::Pair("main;a", 100)));
  EXPECT_THAT(counts_of(after),
              UnorderedElementsAre(testing::Pair("main;a", 40), testing::Pair("main;b", 25)));
  EXPECT_EQ(before.samples, 100u);
  EXPECT_EQ(after.samples, 65u);
  EXPECT_EQ(before.events[0].name, after.events[0].name);
  // A number behind a name is the name's where the first line has one count.
  const Profile named = parse_folded("main;a 10\nmain;b 0 2\n", diagnostics);
  EXPECT_FALSE(has_two_sides(named));
  EXPECT_THAT(counts_of(named),
              UnorderedElementsAre(testing::Pair("main;a", 10), testing::Pair("main;b 0", 2)));
}

TEST(FoldedReader, OneCountBehindTwoIsRefusedWithItsLine) {
  const std::string_view text = "main;a 10 4\nmain;b 3 1\n\nmain;c 4\n";
  const auto bytes = std::as_bytes(std::span(text));
  Diagnostics diagnostics;
  const auto read = read_folded(*memory_source({bytes.begin(), bytes.end()}), diagnostics);
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(to_string(read.error()), HasSubstr("line 4"));
}

TEST(FoldedReader, ThreadNamesBesideARecording) {
  Diagnostics diagnostics;
  Profile recording;
  recording.groups = {{7, 7, "my java", "my java"}};
  Profile folded =
      parse_folded("my_java;main;a 5\nmy_java;main 2\nmy_java 1\nnode;b 4\n", diagnostics);
  take_thread_names(folded, recording);
  EXPECT_THAT(counts_of(folded),
              UnorderedElementsAre(testing::Pair("main;a", 5), testing::Pair("main", 2),
                                   testing::Pair("", 1), testing::Pair("b", 4)));
  EXPECT_EQ(folded.groups.size(), 2u);
  // The first frames of others are functions.
  Profile others = parse_folded("main;foo 1\nmain;bar 2\n", diagnostics);
  take_thread_names(others, recording);
  EXPECT_THAT(counts_of(others),
              UnorderedElementsAre(testing::Pair("main;foo", 1), testing::Pair("main;bar", 2)));
}

TEST(Folded, ANameThatEndsWithANumberIsNoSecondCount) {
  for (const std::string_view name : {"worker 3", "take 1.5", "1 2 3"}) {
    test::ProfileBuilder b;
    b.profile.events = {{"samples", "count"}};
    b.profile.groups = {{}};
    const FrameId frame =
        b.frame(test::named(std::string(name), "", FrameKind::native, NameSource::elf));
    b.add(0, b.stack({frame, frame}), 5);
    Diagnostics diagnostics;
    const Profile back = parse_folded(folded_text(b.profile), diagnostics);
    ASSERT_EQ(back.events.size(), 1u);
    ASSERT_EQ(back.frames.size(), 1u) << folded_text(b.profile);
    EXPECT_EQ(back.frames[0].method, name);
  }
}

TEST(FoldedReader, FirstFrameAsComm) {
  Diagnostics diagnostics;
  const Profile profile =
      parse_folded("java;a 1\nnode;a 2\nnode 3\n", diagnostics, {.first_is_comm = true});
  ASSERT_EQ(profile.groups.size(), 2u);
  EXPECT_EQ(profile.groups[1].comm, "node");
  EXPECT_THAT(lines_of(folded_text(profile)),
              UnorderedElementsAre("java;a 1", "node;a 2", "node 3"));
}

TEST(FoldedReader, WhatIsNoStackIsNotedAndLeftOut) {
  Diagnostics diagnostics;
  const Profile profile = parse_folded(
      "no count\n12\n 12\na;b -4\na;b 1x\na;b 99999999999999999999\na;b 3\n"
      "big 18446744073709551615\n",
      diagnostics);
  EXPECT_EQ(profile.samples, 3u);
  EXPECT_EQ(diagnostics.count("folded line without a stack and a count"), 6u);
  EXPECT_EQ(diagnostics.count("folded line left out: counts beyond 64 bits"), 1u);
}

TEST(FoldedReader, LimitsHold) {
  const FoldedReadOptions options{.max_line = 50, .max_depth = 3, .max_nodes = 6};
  Diagnostics diagnostics;
  FoldedParser parser(options, diagnostics);
  for (int i = 0; i < 100; ++i) parser.feed("long");  // one line in many pieces
  parser.feed(" 1\na;b;c;d;e 2\nx;y 1\nz;z;z 1\n");
  const Profile profile = parser.finish();
  EXPECT_EQ(diagnostics.count("folded line left out: too long"), 1u);
  EXPECT_EQ(diagnostics.count("folded stack cut off: too deep"), 1u);
  EXPECT_EQ(diagnostics.count("folded line left out: too many different stacks"), 1u);
  EXPECT_EQ(profile.nodes.size(), 6u);
  EXPECT_THAT(counts_of(profile),
              UnorderedElementsAre(testing::Pair("a;b;c", 2), testing::Pair("x;y", 1)));
}

TEST(FoldedReader, SourcesAndWhatIsNoFoldedText) {
  const auto source = [](std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return memory_source({bytes.begin(), bytes.end()}, false, 3);
  };
  Diagnostics diagnostics;
  const auto profile = read_folded(*source("main;a 1\nmain;b 2\n"), diagnostics);
  ASSERT_TRUE(profile.has_value());
  EXPECT_EQ(profile->samples, 3u);
  for (const std::string_view text : {"", "PERFILE2\1\2\3", "<html>\n<b>\n"}) {
    const auto none = read_folded(*source(text), diagnostics);
    ASSERT_FALSE(none.has_value()) << text;
    EXPECT_EQ(none.error().kind, ErrorKind::damaged);
  }
}

// Names of any bytes come back as they were.
TEST(Folded, AnyNameComesBack) {
  std::mt19937 random(11);
  const std::string_view alphabet = "\\\\x3b;;\n\r\t #[]_kji(){}<>\x80\xc3\xa9\xff\0?1 a"sv;
  for (int round = 0; round < 3000; ++round) {
    std::string name;
    for (size_t i = 1 + random() % 8; i > 0; --i) name += alphabet[random() % alphabet.size()];
    test::ProfileBuilder b;
    b.profile.events = {{"samples", "count"}};
    b.profile.groups = {{}};
    const FrameId frame =
        b.frame(test::named("n" + name + "n", "", FrameKind::native, NameSource::elf));
    b.add(0, b.stack({frame, frame}), 5);
    Diagnostics diagnostics;
    const Profile back = parse_folded(folded_text(b.profile), diagnostics);
    ASSERT_TRUE(diagnostics.empty());
    ASSERT_EQ(back.frames.size(), 1u) << folded_text(b.profile);
    EXPECT_EQ(back.frames[0].method, "n" + name + "n");
  }
}

TEST(Folded, CorpusOfTheFuzzer) {
  size_t seeds = 0;
  std::error_code error;
  const auto directory = std::filesystem::path(JITSCOPE_SOURCE_DIR) / "fuzz" / "corpus" / "folded";
  for (const auto& file : std::filesystem::directory_iterator(directory, error)) {
    std::ifstream stream(file.path(), std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    EXPECT_EQ(fuzz::check_folded(text), "") << file.path();
    ++seeds;
    for (size_t i = 0; i < text.size(); ++i) {
      EXPECT_EQ(fuzz::check_folded(std::string_view(text).substr(0, i)), "")
          << file.path() << " cut at " << i;
      for (const char flip : {'\x01', '\x10', '\x80', '\xff'}) {
        text[i] = static_cast<char>(text[i] ^ flip);
        EXPECT_EQ(fuzz::check_folded(text), "") << file.path() << " changed at " << i;
        text[i] = static_cast<char>(text[i] ^ flip);
      }
    }
  }
  EXPECT_FALSE(error) << error.message();
  EXPECT_GE(seeds, 6u);
}

}  // namespace
}  // namespace jitscope
