// The source over real JVMs, held against what the JVM says itself (jcmd PID Compiler.codelist).
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "base/byte_cursor.h"
#include "java_process.h"
#include "runtimes/hotspot/hotspot_source.h"
#include "runtimes/hotspot/libjvm_file.h"

namespace jitscope::hotspot::test {
namespace {

constexpr const char* kProgram = R"java(
import java.util.*;
import java.util.function.*;
public class Workload {
  static long sink;
  int base = 3;
  synchronized long locked(int x, String[][] names) { return x * 3L + base + names.length; }
  long mixed(byte b, char c, boolean z, float f, double d, String s, int[] a, long l, short t) {
    return (long) (b + c + (z ? 1 : 0) + f + d) + s.length() + a.length + l + t;
  }
  static int neverCalled(int[] values) { return values[0]; }
  static long loop() { long n = 0; for (int i = 0; i < 3_000_000; i++) n += i ^ (n >> 3); return n; }
  public static void main(String[] arguments) throws Exception {
    Workload w = new Workload();
    LongUnaryOperator lambda = x -> x * 31 + 7;
    Map<Object, Object> map = new HashMap<>();
    long end = System.nanoTime() + 600_000_000L;
    sink += loop();
    for (int i = 0; System.nanoTime() < end; i++) {
      map.put("k" + i % 100, i);
      sink += map.get("k" + i % 50) == null ? 0 : 1;
      sink += lambda.applyAsLong(i) + w.locked(i, new String[0][]);
      sink += w.mixed((byte) 1, 'c', true, 1f, 2d, "abc", new int[3], 4, (short) 5);
      sink += new Object().hashCode();
    }
    System.out.println("ready");
    Thread.sleep(3_600_000);
  }
}
)java";

struct Listed {
  int level = 0;
  int state = 0;
  std::string name;
  uint64_t end = 0;
  bool operator==(const Listed&) const = default;
};
using Key = std::pair<uint64_t, uint64_t>;  // code address, compile id

class HotspotLive : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    jdks_ = find_jdks();
    if (jdks_.empty()) return;
    char pattern[] = "/tmp/jitscope-hotspot-XXXXXX";
    if (mkdtemp(pattern) == nullptr) return;
    directory_ = pattern;
    std::ofstream(directory_ + "/Workload.java") << kProgram;
    JavaProcess javac({jdks_.front() + "/bin/javac", "--release", "11", "-d", directory_,
                       directory_ + "/Workload.java"});
    ASSERT_EQ(javac.finish(), 0) << javac.output();
  }
  static void TearDownTestSuite() {
    std::error_code error;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, error);
  }
  void SetUp() override {
    if (jdks_.empty()) GTEST_SKIP() << "no JDK (java, javac, jcmd) in JAVA_HOME or /usr/lib/jvm";
  }

  struct Jvm {
    std::string jdk;
    std::unique_ptr<JavaProcess> java;
    std::unique_ptr<Process> process;
    std::string library;
    uint64_t base = 0;
    std::unique_ptr<CodeSource> source;
  };

  static void open(Jvm& jvm, const std::string& jdk, const std::vector<std::string>& options) {
    jvm.jdk = jdk;
    std::vector<std::string> command{jdk + "/bin/java"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"-cp", directory_, "Workload"});
    jvm.java = std::make_unique<JavaProcess>(command);
    ASSERT_TRUE(jvm.java->wait_for("ready\n")) << jvm.java->output();
    auto process = Process::open(jvm.java->pid());
    ASSERT_TRUE(process) << to_string(process.error());
    jvm.process = std::make_unique<Process>(std::move(*process));
    const auto maps = jvm.process->maps();
    ASSERT_TRUE(maps);
    for (const Mapping& mapping : *maps) {
      if (!mapping.path.ends_with("/libjvm.so")) continue;
      jvm.library = mapping.path;
      jvm.base = mapping.start;
      break;
    }
    ASSERT_NE(jvm.base, 0U);
    auto source = open_hotspot_source(*jvm.process, jvm.library, jvm.base);
    ASSERT_TRUE(source) << to_string(source.error());
    jvm.source = std::move(*source);
  }

  static std::map<Key, Listed> codelist(const Jvm& jvm) {
    JavaProcess jcmd({jvm.jdk + "/bin/jcmd", std::to_string(jvm.java->pid()), "Compiler.codelist"});
    EXPECT_EQ(jcmd.finish(), 0) << jcmd.output();
    static const std::regex line(
        R"((\d+) (\d+) (-?\d+) (.*) \[0x[0-9a-f]+, 0x([0-9a-f]+) - 0x([0-9a-f]+)\])");
    std::map<Key, Listed> result;
    ByteCursor cursor(jcmd.output());
    while (!cursor.at_end()) {
      const std::string text(cursor.line());
      std::smatch match;
      if (!std::regex_match(text, match, line)) continue;
      result[{*parse_hex(match[5].str()), std::stoull(match[1])}] = {
          std::stoi(match[2]), std::stoi(match[3]), match[4], *parse_hex(match[6].str())};
    }
    return result;
  }

  static int level_of(Tier tier) {
    switch (tier) {
      case Tier::native:
        return 0;
      case Tier::c1:
        return 1;
      case Tier::c1_limited:
        return 2;
      case Tier::c1_full:
        return 3;
      case Tier::c2:
        return 4;
      default:
        return -1;
    }
  }

  // The JVM writes dots in class names and "/0x" before the address of a hidden class.
  static std::string listed_form(const MethodName& name) {
    const size_t dot = name.raw.find('(') == std::string::npos
                           ? std::string::npos
                           : name.raw.rfind('.', name.raw.find('('));
    std::string type = name.raw.substr(0, dot);
    std::ranges::replace(type, '/', '.');
    if (const size_t hidden = type.find("+0x"); hidden != std::string::npos) type[hidden] = '/';
    return type + name.raw.substr(dot);
  }

  // Everything that the JVM lists both before and after the reading is found as it is listed.
  static void compare(Jvm& jvm, size_t at_least) {
    const auto before = codelist(jvm);
    auto snapshot = jvm.source->read();
    ASSERT_TRUE(snapshot) << to_string(snapshot.error());
    const auto after = codelist(jvm);
    std::map<Key, const CodeBody*> bodies;
    for (const CodeBody& body : snapshot->bodies) {
      if (body.tier != Tier::stub) bodies[{body.address, body.version}] = &body;
    }
    size_t stable = 0;
    for (const auto& [key, listed] : before) {
      const auto again = after.find(key);
      if (again == after.end() || !(again->second == listed)) continue;
      ++stable;
      const auto found = bodies.find(key);
      ASSERT_NE(found, bodies.end()) << listed.name;
      const CodeBody& body = *found->second;
      EXPECT_EQ(level_of(body.tier), listed.level) << listed.name;
      EXPECT_EQ(body.state == BodyState::in_use, listed.state == 0) << listed.name;
      EXPECT_EQ(body.state == BodyState::not_entrant, listed.state > 0) << listed.name;
      EXPECT_EQ(body.address + body.size, listed.end) << listed.name;
      EXPECT_EQ(listed_form(*body.name), listed.name);
      EXPECT_GE(body.entry, body.address);
      EXPECT_LT(body.entry, body.address + body.size);
      EXPECT_FALSE(body.parameters == nullptr);
    }
    EXPECT_GE(stable, at_least);
    // And nothing that the JVM does not know.
    for (const auto& [key, body] : bodies) {
      EXPECT_TRUE(before.contains(key) || after.contains(key)) << body->name->display();
    }
    // What was read holds: the identity of bodies that did not change in between.
    for (const auto& [key, body] : bodies) {
      const auto again = after.find(key);
      const auto was = before.find(key);
      if (again == after.end() || was == before.end() || !(again->second == was->second)) continue;
      for (const IdentityCheck& check : body->identity) {
        std::vector<std::byte> now(check.expected.size());
        EXPECT_TRUE(jvm.process->memory().read(check.address, now));
        EXPECT_EQ(now, check.expected) << body->name->display();
      }
    }
  }

  static void compare_all(const std::vector<std::string>& options) {
    for (const std::string& jdk : jdks_) {
      SCOPED_TRACE(jdk);
      Jvm jvm;
      ASSERT_NO_FATAL_FAILURE(open(jvm, jdk, options));
      ASSERT_NO_FATAL_FAILURE(compare(jvm, 30));
    }
  }

  static inline std::vector<std::string> jdks_;
  static inline std::string directory_;
};

TEST_F(HotspotLive, SerialMatchesTheJvmsOwnList) {
  compare_all({"-XX:+UseSerialGC"});
}
TEST_F(HotspotLive, G1MatchesTheJvmsOwnList) {
  compare_all({"-XX:+UseG1GC"});
}
TEST_F(HotspotLive, ZgcMatchesTheJvmsOwnList) {
  compare_all({"-XX:+UseZGC", "-Xmx256m"});
}
TEST_F(HotspotLive, OneCodeHeapMatchesTheJvmsOwnList) {
  compare_all({"-XX:+UseSerialGC", "-XX:-SegmentedCodeCache"});
}

TEST_F(HotspotLive, InterpretedJvmHasOnlyStubs) {
  for (const std::string& jdk : jdks_) {
    SCOPED_TRACE(jdk);
    Jvm jvm;
    ASSERT_NO_FATAL_FAILURE(open(jvm, jdk, {"-Xint", "-XX:+UseSerialGC"}));
    const auto snapshot = jvm.source->read();
    ASSERT_TRUE(snapshot) << to_string(snapshot.error());
    bool interpreter = false;
    for (const CodeBody& body : snapshot->bodies) {
      EXPECT_TRUE(body.tier == Tier::stub || body.tier == Tier::native) << body.name->display();
      interpreter |= body.tier == Tier::stub && body.name->function == "Interpreter";
    }
    EXPECT_TRUE(interpreter);
    const auto methods = jvm.source->loaded_methods();
    ASSERT_TRUE(methods);
    EXPECT_GT(methods->size(), 3000U);
  }
}

TEST_F(HotspotLive, NamesVersionsAndLoadedMethods) {
  for (const std::string& jdk : jdks_) {
    SCOPED_TRACE(jdk);
    Jvm jvm;
    ASSERT_NO_FATAL_FAILURE(open(jvm, jdk, {"-XX:+UseSerialGC"}));
    // "17.0.15+6-Debian-1deb12u1" and `JAVA_VERSION="17.0.15"` in the JDK's release file.
    std::ifstream release(jdk + "/release");
    const std::string text((std::istreambuf_iterator<char>(release)), {});
    std::smatch match;
    const std::string version = hotspot_version(*jvm.process, jvm.library, jvm.base);
    EXPECT_FALSE(version.empty());
    if (std::regex_search(text, match, std::regex("JAVA_VERSION=\"([^\"]+)\""))) {
      EXPECT_TRUE(version.starts_with(match[1].str())) << version;
    }

    const auto snapshot = jvm.source->read();
    ASSERT_TRUE(snapshot) << to_string(snapshot.error());
    std::map<std::string, const CodeBody*> in_use;
    bool osr = false;
    bool hidden = false;
    for (const CodeBody& body : snapshot->bodies) {
      if (body.state == BodyState::in_use && !body.osr) in_use[body.name->display()] = &body;
      osr |= body.osr && body.name->short_name() == "Workload.loop" &&
             body.not_probeable == "OSR body";
      hidden |=
          body.name->type.starts_with("Workload$$Lambda") && body.name->type.ends_with("+<hidden>");
    }
    EXPECT_TRUE(osr);
    EXPECT_TRUE(hidden);
    const auto locked = in_use.find("Workload.locked(int,java.lang.String[][])");
    ASSERT_NE(locked, in_use.end());
    EXPECT_EQ(locked->second->parameters->front().type_name, "this");
    EXPECT_GT(locked->second->frame_bytes, 0U);
    EXPECT_TRUE(in_use.contains("java.util.HashMap.put(java.lang.Object,java.lang.Object)"));
    EXPECT_TRUE(in_use.contains(
        "Workload.mixed(byte,char,boolean,float,double,java.lang.String,int[],long,short)"));

    const auto methods = jvm.source->loaded_methods();
    ASSERT_TRUE(methods) << to_string(methods.error());
    std::set<std::string> loaded;
    for (const auto& name : *methods) loaded.insert(name->display());
    EXPECT_TRUE(loaded.contains("Workload.neverCalled(int[])"));
    EXPECT_TRUE(loaded.contains("java.lang.Object.hashCode()"));
    for (const auto& [name, body] : in_use) {
      // Method handle intrinsics are made as needed and belong to no class's list.
      if (body->tier == Tier::stub || body->not_probeable == "method handle intrinsic") continue;
      EXPECT_TRUE(loaded.contains(name)) << name;
    }
    EXPECT_TRUE(jvm.source->code_is_fixed());
    EXPECT_EQ(jvm.source->kind(), SourceKind::hotspot_memory);

    // The target exits: an error of its own kind, and no half answer.
    jvm.java->kill_and_wait();
    const auto gone = jvm.source->read();
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().kind, ErrorKind::target_gone) << to_string(gone.error());
  }
}

TEST_F(HotspotLive, LibraryTellsItsProbes) {
  for (const std::string& jdk : jdks_) {
    const auto file = LibjvmFile::open(jdk + "/lib/server/libjvm.so");
    ASSERT_TRUE(file) << to_string(file.error());
    EXPECT_EQ(file->first_address, 0U);
    EXPECT_TRUE(file->address("gHotSpotVMStructs", 0x1000));
    EXPECT_FALSE(file->address("gHotSpotVMNoSuchThing", 0x1000));
    // libjvm exports its tables where libjava has none.
    const auto other = LibjvmFile::open(jdk + "/lib/libjava.so");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().kind, ErrorKind::not_possible);
  }
}

TEST(LibjvmFile, OtherFilesAreErrors) {
  EXPECT_EQ(LibjvmFile::open("/nonexistent/libjvm.so").error().kind, ErrorKind::not_found);
  EXPECT_FALSE(LibjvmFile::open("/"));
  EXPECT_FALSE(LibjvmFile::open("/dev/null"));
  EXPECT_EQ(LibjvmFile::open("/proc/self/status").error().kind, ErrorKind::damaged);
}

}  // namespace
}  // namespace jitscope::hotspot::test
