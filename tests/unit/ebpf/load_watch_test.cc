// LoadWatch on this program's own USDT probes, which have the names and arguments of HotSpot's: a
// forked child fires them with what texts and numbers it likes. And once on a real JVM.
#include "ebpf/load_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/clock.h"
#include "process/maps.h"
#include "tests/unit/process/call_target.h"
#include "tests/unit/process/target_program.h"

// void fire_load(class, length, method, length, signature, length, code, size) and fire_unload(the
// first six), each with a note as <sys/sdt.h> writes it (note type 3, owner stapsdt: address of the
// nop, base, semaphore, provider, name, arguments).
#define JITSCOPE_TEST_PROBE(function, probe, arguments) \
  asm(".pushsection .text\n"                            \
      ".globl " function                                \
      "\n"                                              \
      ".type " function ", @function\n" function        \
      ":\n"                                             \
      "  movq 8(%rsp), %rax\n"                          \
      "  movq 16(%rsp), %r10\n"                         \
      "990: nop\n"                                      \
      "  xorl %eax, %eax\n"                             \
      "  ret\n"                                         \
      ".size " function ", . - " function               \
      "\n"                                              \
      ".popsection\n"                                   \
      ".pushsection .note.stapsdt, \"\", \"note\"\n"    \
      ".balign 4\n"                                     \
      ".4byte 992f-991f, 994f-993f, 3\n"                \
      "991: .asciz \"stapsdt\"\n"                       \
      "992: .balign 4\n"                                \
      "993: .8byte 990b, 0, 0\n"                        \
      ".asciz \"hotspot\"\n"                            \
      ".asciz \"" probe                                 \
      "\"\n"                                            \
      ".asciz \"" arguments                             \
      "\"\n"                                            \
      "994: .balign 4\n"                                \
      ".popsection\n")

JITSCOPE_TEST_PROBE("jitscope_test_fire_load", "compiled__method__load",
                    "8@%rdi -4@%esi 8@%rdx -4@%ecx 8@%r8 -4@%r9d 8@%rax 8@%r10");
JITSCOPE_TEST_PROBE("jitscope_test_fire_unload", "compiled__method__unload",
                    "8@%rdi -4@%esi 8@%rdx -4@%ecx 8@%r8 -4@%r9d");
// As in libjvm of JDK 17, where the unload probe is inlined at a second place.
JITSCOPE_TEST_PROBE("jitscope_test_fire_unload_too", "compiled__method__unload",
                    "8@%rdi -4@%esi 8@%rdx -4@%ecx 8@%r8 -4@%r9d");
extern "C" void jitscope_test_fire_load();
extern "C" void jitscope_test_fire_unload();
extern "C" void jitscope_test_fire_unload_too();

namespace jitscope {
namespace {

struct Seen {
  std::string class_name;
  std::string method;
  uint64_t code;
  uint64_t time_ns;
  bool unload;
};

class LoadWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root for eBPF programs";
    if (!std::filesystem::exists("/sys/kernel/btf/vmlinux"))
      GTEST_SKIP() << "this kernel has no BTF";
    // Anonymous memory: the child has it without a page fault, which an eBPF program cannot take.
    type_ = place(0, "java/util/HashMap");
    method_ = place(0x100, "put(and more)");
    std::string digits;
    while (digits.size() < 160) digits += std::to_string(digits.size() % 10);
    long_text_ = place(0x200, digits);
    target_.start();
    auto process = Process::open(target_.pid());
    ASSERT_TRUE(process) << to_string(process.error());
    process_.emplace(std::move(*process));
    auto watch = LoadWatch::open(*process_, std::filesystem::canonical("/proc/self/exe"));
    ASSERT_TRUE(watch) << to_string(watch.error());
    watch_ = std::move(*watch);
  }

  // Texts lie at the same address here and in the child.
  const char* place(size_t offset, const std::string& text) {
    const std::span bytes(reinterpret_cast<const unsigned char*>(text.c_str()), text.size() + 1);
    return reinterpret_cast<const char*>(target_.put(offset, bytes));
  }
  static uint64_t at(const char* text) { return reinterpret_cast<uint64_t>(text); }
  void load(const char* type, int64_t type_length, const char* method, int64_t method_length,
            uint64_t code) {
    (void)target_.call_with(reinterpret_cast<uint64_t>(&jitscope_test_fire_load),
                            {at(type), static_cast<uint64_t>(type_length), at(method),
                             static_cast<uint64_t>(method_length), 0, 0, code, 99});
  }
  std::vector<Seen> look() {
    std::vector<Seen> seen;
    lost_ = watch_->poll([&](const LoadEvent& event) {
      seen.push_back({std::string(event.class_name), std::string(event.method), event.code,
                      event.time_ns, event.unload});
    });
    return seen;
  }

  CallTarget target_;
  std::optional<Process> process_;
  std::unique_ptr<LoadWatch> watch_;
  const char* type_ = nullptr;
  const char* method_ = nullptr;
  const char* long_text_ = nullptr;
  bool lost_ = false;
};

TEST_F(LoadWatchTest, TellsWhatWasLoadedInOrder) {
  const uint64_t before = monotonic_ns();
  load(type_, 17, method_, 3, 0x7f00'1234'5678);
  load(type_, 4, method_, 0, 1);
  (void)target_.call_with(reinterpret_cast<uint64_t>(&jitscope_test_fire_unload),
                          {at(type_), 17, at(method_), 3, 0, 0, 5, 5});
  (void)target_.call_with(reinterpret_cast<uint64_t>(&jitscope_test_fire_unload_too),
                          {at(type_), 9, at(method_), 3, 0, 0, 5, 5});
  const uint64_t after = monotonic_ns();
  const auto seen = look();
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_FALSE(lost_);
  EXPECT_EQ(seen[0].class_name, "java/util/HashMap");
  EXPECT_EQ(seen[0].method, "put");
  EXPECT_EQ(seen[0].code, 0x7f0012345678U);
  EXPECT_FALSE(seen[0].unload);
  EXPECT_EQ(seen[1].class_name, "java");
  EXPECT_EQ(seen[1].method, "");
  EXPECT_TRUE(seen[2].unload);
  EXPECT_EQ(seen[2].class_name, "java/util/HashMap");
  EXPECT_EQ(seen[2].method, "put");
  EXPECT_EQ(seen[2].code, 0U);
  EXPECT_TRUE(seen[3].unload);
  EXPECT_EQ(seen[3].class_name, "java/util");
  uint64_t last = before;
  for (const Seen& each : seen) {
    EXPECT_GE(each.time_ns, last);
    last = each.time_ns;
  }
  EXPECT_LE(last, after);
  EXPECT_TRUE(look().empty());
}

TEST_F(LoadWatchTest, TextsAreCutAndNonsenseIsEmpty) {
  load(long_text_, 160, long_text_, 128, 1);
  load(long_text_, 127, long_text_, 126, 2);
  load(type_, -1, method_, INT32_MIN, 3);
  load(nullptr, 5, reinterpret_cast<const char*>(0x10), 5, 4);
  load(type_, 0x7fffffff, method_, static_cast<int64_t>(0x1'0000'0003),
       5);  // the low 4 bytes count
  const auto seen = look();
  ASSERT_EQ(seen.size(), 5U);
  const std::string text = long_text_;
  EXPECT_EQ(seen[0].class_name, text.substr(0, 127));
  EXPECT_EQ(seen[0].method, text.substr(0, 127));
  EXPECT_EQ(seen[1].class_name, text.substr(0, 127));
  EXPECT_EQ(seen[1].method, text.substr(0, 126));
  EXPECT_EQ(seen[2].class_name, "");
  EXPECT_EQ(seen[2].method, "");
  EXPECT_EQ(seen[3].class_name, "");
  EXPECT_EQ(seen[3].method, "");
  EXPECT_EQ(seen[4].class_name.substr(0, 17), type_);
  EXPECT_EQ(seen[4].method, "put");
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i].code, i + 1);
}

TEST_F(LoadWatchTest, OtherProcessesAreNotSeen) {
  jitscope_test_fire_unload();
  EXPECT_TRUE(look().empty());
  load(type_, 4, method_, 3, 1);
  EXPECT_EQ(look().size(), 1U);
}

TEST_F(LoadWatchTest, LossIsToldOnce) {
  // More than its ring of 1 MB holds.
  (void)target_.call(reinterpret_cast<uint64_t>(&jitscope_test_fire_unload), 5000);
  const auto seen = look();
  EXPECT_GT(seen.size(), 1000U);
  EXPECT_LT(seen.size(), 5000U);
  EXPECT_TRUE(lost_);
  EXPECT_TRUE(look().empty());
  EXPECT_FALSE(lost_);
  load(type_, 4, method_, 3, 1);
  EXPECT_EQ(look().size(), 1U);
  EXPECT_FALSE(lost_);
}

TEST_F(LoadWatchTest, AFileWithoutTheProbesIsAnError) {
  for (const char* file : {"/usr/bin/env", "/dev/null", "/nonexistent"}) {
    const auto watch = LoadWatch::open(*process_, file);
    ASSERT_FALSE(watch) << file;
    EXPECT_NE(watch.error().kind, ErrorKind::target_gone);
  }
}

TEST_F(LoadWatchTest, ARealJvmTellsItsCompiledMethods) {
  std::string java;
  for (const char* home : {"/usr/lib/jvm/default-java", "/usr/lib/jvm/java-17-openjdk-amd64",
                           "/usr/lib/jvm/temurin-25-jdk-amd64"}) {
    if (std::filesystem::exists(std::string(home) + "/bin/javac")) {
      java = std::string(home) + "/bin/java";
      break;
    }
  }
  if (java.empty()) GTEST_SKIP() << "no JDK in /usr/lib/jvm";
  std::string directory = testing::TempDir() + "/jitscope-load-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const std::string source = directory + "/Loads.java";
  std::ofstream(source) << R"(
    public class Loads {
      static int sum = 0;
      static int jitscopeLoadedLate(int x) { return x * 31 + 7; }
      public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        System.in.read();
        for (int i = 0; i < 3000000; i++) sum += jitscopeLoadedLate(i);
        System.out.println("done " + sum);
        System.in.read();
      }
    })";
  TargetProgram jvm(java, {source});
  ASSERT_EQ(jvm.read_line(std::chrono::seconds(60)), "ready");
  auto process = Process::open(jvm.pid());
  ASSERT_TRUE(process);
  auto maps = process->maps();
  ASSERT_TRUE(maps);
  std::string library;
  for (const Mapping& mapping : *maps) {
    if (mapping.path.ends_with("/libjvm.so")) library = mapping.path;
  }
  ASSERT_FALSE(library.empty());
  auto watch = LoadWatch::open(*process, library);
  ASSERT_TRUE(watch) << to_string(watch.error());
  jvm.write_line("");
  ASSERT_THAT(jvm.read_line(std::chrono::seconds(60)), testing::StartsWith("done"));
  std::vector<Seen> seen;
  EXPECT_TRUE(eventually([&] {
    (void)(*watch)->poll([&](const LoadEvent& event) {
      seen.push_back({std::string(event.class_name), std::string(event.method), event.code,
                      event.time_ns, event.unload});
    });
    return std::ranges::any_of(seen, [](const Seen& each) {
      return each.class_name == "Loads" && each.method == "jitscopeLoadedLate" && !each.unload;
    });
  }));
  for (const Seen& each : seen) {
    if (each.unload) continue;
    const auto now = process->maps();
    ASSERT_TRUE(now);
    const Mapping* mapping = find_mapping(*now, each.code);
    ASSERT_NE(mapping, nullptr) << std::hex << each.code;
    EXPECT_TRUE(mapping->executable);
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
}

}  // namespace
}  // namespace jitscope
