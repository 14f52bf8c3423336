// A perf map as the source of a live process: this test process with pages of its own, and Node.js.
#include "runtimes/perf_map_source.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "runtimes/detect.h"
#include "runtimes/open_source.h"
#include "unit/runtimes/child_process.h"

namespace jitscope {
namespace {

namespace fs = std::filesystem;

// Executable pages of the test itself, which end with it.
class OwnCode : public ::testing::Test {
 protected:
  void SetUp() override {
    code_ = ::mmap(nullptr, 4 * kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(code_, MAP_FAILED);
    map_ = fmt::format("/tmp/perf-{}.map", ::getpid());
    fs::remove(map_);
    auto self = Process::open(::getpid());
    ASSERT_TRUE(self);
    self_.emplace(std::move(*self));
  }
  void TearDown() override {
    ::munmap(code_, 4 * kPage);
    fs::remove(map_);
  }
  uint64_t at(uint64_t offset) const { return reinterpret_cast<uint64_t>(code_) + offset; }
  void append(uint64_t offset, uint64_t size, std::string_view name) {
    std::ofstream(map_, std::ios::app) << fmt::format("{:x} {:x} {}\n", at(offset), size, name);
  }

  static constexpr size_t kPage = 4096;
  void* code_ = nullptr;
  std::string map_;
  std::optional<Process> self_;
};

TEST_F(OwnCode, IsFoundFollowedAndDropped) {
  append(0, 0x40, "first");
  append(0x40, 0x40, "second one");
  auto source = open_code_source(*self_);
  ASSERT_TRUE(source) << to_string(source.error());
  EXPECT_EQ((*source)->kind(), SourceKind::perf_map);
  EXPECT_FALSE((*source)->code_is_fixed()) << "nothing is known of this runtime";
  EXPECT_FALSE((*source)->movable_reason().empty());
  auto snapshot = (*source)->read();
  ASSERT_TRUE(snapshot) << to_string(snapshot.error());
  ASSERT_EQ(snapshot->bodies.size(), 2U);
  EXPECT_EQ(snapshot->bodies[1].name->display(), "second one");
  EXPECT_EQ(snapshot->bodies[1].entry, at(0x40));

  append(kPage, 0x40, "third");
  append(0x20, 0x40, "over both");
  snapshot = (*source)->read();
  ASSERT_TRUE(snapshot);
  ASSERT_EQ(snapshot->bodies.size(), 2U);
  EXPECT_EQ(snapshot->bodies[0].name->display(), "over both");

  ASSERT_EQ(::mprotect(code_, kPage, PROT_READ), 0);
  snapshot = (*source)->read();
  ASSERT_TRUE(snapshot);
  ASSERT_EQ(snapshot->bodies.size(), 1U);
  EXPECT_EQ(snapshot->bodies[0].name->display(), "third");

  fs::remove(map_);
  snapshot = (*source)->read();
  ASSERT_TRUE(snapshot) << "the file that is open still counts";
  EXPECT_EQ(snapshot->bodies.size(), 1U);
  EXPECT_EQ((*source)->diagnostics().count("perf map replaced or removed while in use"), 1U);
}

TEST_F(OwnCode, WithoutAMapSaysWhatToDo) {
  const auto source = open_code_source(*self_);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().kind, ErrorKind::not_possible);
  EXPECT_NE(source.error().what.find("perf map"), std::string::npos);
  EXPECT_FALSE(source.error().hint.empty());
  const auto findings = examine(*self_);
  ASSERT_TRUE(findings);
  EXPECT_FALSE(findings->not_probeable.empty());
  EXPECT_GE(findings->jit_bytes, 4 * kPage);
}

TEST_F(OwnCode, AMapThatTheUserNames) {
  const std::string named = map_ + ".named";
  std::ofstream(named) << fmt::format("{:x} 10 named\n", at(0));
  SourceOptions options;
  options.map_path = named;
  const auto source = open_code_source(*self_, options);
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->read()->bodies.size(), 1U);
  fs::remove(named);
  EXPECT_EQ(open_code_source(*self_, options).error().kind, ErrorKind::not_found);
}

TEST(NoJitCode, IsNotFound) {
  ChildProcess child({"sleep", "600"});
  ASSERT_TRUE(eventually([&] {
    const auto process = Process::open(child.pid());
    return process && process->command_line() == "sleep 600";
  }));
  const auto process = Process::open(child.pid());
  const auto source = open_code_source(*process);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().kind, ErrorKind::not_found);
}

class Node : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("node --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "node is not installed";
    std::string pattern = (fs::temp_directory_path() / "node_test.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    ::chmod(pattern.c_str(), 0755);
    std::ofstream(directory_ / "work.js") << "function busy(n) { let s = 0; for (let i = 0; i < n; "
                                             "i++) s = (s + i * 3) % 1003; return s; }\n"
                                             "let t = 0;\n"
                                             "function tick() { for (let i = 0; i < 3000; i++) t "
                                             "+= busy(i % 50); setTimeout(tick, 5); }\n"
                                             "tick();\n";
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
    for (const std::string& map : maps_) fs::remove(map, ignored);
  }
  std::vector<std::string> command(std::vector<std::string> options) const {
    options.insert(options.begin(), "node");
    options.push_back(directory_ / "work.js");
    return options;
  }
  // A body of busy() in machine code, when there is one.
  static std::optional<CodeBody> optimised(CodeSource& source) {
    const auto snapshot = source.read();
    if (!snapshot) return std::nullopt;
    const auto found = std::ranges::find_if(snapshot->bodies, [](const CodeBody& body) {
      return body.name->function == "busy" && body.tier == Tier::turbofan;
    });
    if (found == snapshot->bodies.end()) return std::nullopt;
    return *found;
  }
  Result<std::unique_ptr<CodeSource>> open_when_ready(const Process& process) {
    Result<std::unique_ptr<CodeSource>> source = open_code_source(process);
    eventually([&] {
      source = open_code_source(process);
      return source.has_value();
    });
    return source;
  }
  Result<Process> node_process(ChildProcess& child) {
    maps_.push_back(fmt::format("/tmp/perf-{}.map", child.pid()));
    // After exec: the process opened here must be the one that is looked at later.
    EXPECT_TRUE(eventually([&] {
      const auto process = Process::open(child.pid());
      if (!process) return false;
      const auto maps = process->maps();
      return maps && !find_jit_mappings(*process, *maps).empty();
    }));
    return Process::open(child.pid());
  }

  fs::path directory_;
  std::vector<std::string> maps_;
};

TEST_F(Node, NamesTiersAndEntries) {
  ChildProcess child(command({"--perf-basic-prof"}));
  const auto process = node_process(child);
  ASSERT_TRUE(process);
  auto source = open_when_ready(*process);
  ASSERT_TRUE(source) << to_string(source.error());
  EXPECT_TRUE((*source)->code_is_fixed()) << (*source)->movable_reason();
  std::optional<CodeBody> body;
  ASSERT_TRUE(eventually([&] { return (body = optimised(**source)).has_value(); }));
  EXPECT_EQ(body->entry, body->address);
  EXPECT_EQ(body->convention, CallConvention::v8_x86_64);
  EXPECT_EQ(body->not_probeable, "");
  const std::string line = fmt::format("{}:1", (directory_ / "work.js").string());
  EXPECT_TRUE(body->name->location == line + ":14" || body->name->location == line)
      << body->name->location << ": Node 18 gives no column";
  EXPECT_EQ((*source)->diagnostics().count("perf map line without a size"), 0U);

  const auto findings = examine(*process);
  ASSERT_TRUE(findings);
  EXPECT_EQ(findings->runtime.runtime, Runtime::v8);
  EXPECT_GE(std::ranges::count(findings->runtime.version, '.'), 2) << findings->runtime.version;
  EXPECT_EQ(findings->backends, (std::vector<std::string>{"trampoline", "breakpoint"}));
}

TEST_F(Node, WithoutTheFlag) {
  ChildProcess child(command({}));
  const auto process = node_process(child);
  ASSERT_TRUE(process);
  const auto source = open_code_source(*process);
  ASSERT_FALSE(source);
  EXPECT_NE(source.error().hint.find("--perf-basic-prof"), std::string::npos);
  const auto findings = examine(*process);
  ASSERT_TRUE(findings);
  EXPECT_NE(findings->not_probeable.find("--perf-basic-prof"), std::string::npos);
}

TEST_F(Node, InAPidNamespace) {
  if (::geteuid() != 0) GTEST_SKIP() << "unshare -p needs root";
  std::vector<std::string> unshare = {"unshare", "-p", "-m", "-f", "--kill-child", "--mount-proc"};
  for (std::string& word : command({"--perf-basic-prof-only-functions"})) unshare.push_back(word);
  ChildProcess child(unshare);
  pid_t pid = 0;
  ASSERT_TRUE(eventually([&] {
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", child.pid()));
    return static_cast<bool>(children >> pid);
  }));
  ASSERT_TRUE(eventually([&] {
    const auto process = Process::open(pid);
    if (!process) return false;
    const auto maps = process->maps();
    return maps && !find_jit_mappings(*process, *maps).empty();
  }));
  const auto process = Process::open(pid);
  ASSERT_TRUE(process);
  EXPECT_NE(process->ns_pid(), pid);
  auto source = open_when_ready(*process);
  ASSERT_TRUE(source) << to_string(source.error());
  maps_.push_back(fmt::format("/tmp/perf-{}.map", process->ns_pid()));
  EXPECT_NE((*source)->describe().find(fmt::format("perf-{}.map", process->ns_pid())),
            std::string::npos);
  EXPECT_TRUE(eventually([&] { return optimised(**source).has_value(); }));
}

}  // namespace
}  // namespace jitscope
