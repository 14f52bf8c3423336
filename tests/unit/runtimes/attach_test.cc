// Attaching to real JVMs (each JDK that is there), as this user and as another one.
#include "runtimes/hotspot/attach.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "runtimes/hotspot/compiler_perfmap_source.h"
#include "unit/runtimes/child_process.h"

namespace jitscope {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> find_javas() {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/jvm", ignored)) {
    const fs::path java = entry.path() / "bin/java";
    if (!entry.is_symlink() && fs::exists(java, ignored)) found.push_back(java);
  }
  return found;
}

class Attach : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam().empty()) GTEST_SKIP() << "no JDK below /usr/lib/jvm";
    std::string pattern = (fs::temp_directory_path() / "attach_test.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    ::chmod(pattern.c_str(), 0755);
    std::ofstream(directory_ / "Wait.java")
        << "public class Wait {\n"
           "  public static void main(String[] a) throws Exception {\n"
           "    Thread.sleep(600000);\n"
           "  }\n}\n";
  }
  void TearDown() override {
    std::error_code ignored;
    if (!directory_.empty()) fs::remove_all(directory_, ignored);
    // A JVM that is killed leaves its socket.
    for (const std::string& socket : sockets_) fs::remove(socket, ignored);
  }
  std::vector<std::string> command(std::vector<std::string> options = {}) const {
    std::vector<std::string> out = {GetParam()};
    out.insert(out.end(), options.begin(), options.end());
    out.push_back(directory_ / "Wait.java");
    return out;
  }
  // A process of the JVM that handles SIGQUIT already.
  Result<Process> ready(ChildProcess& child) {
    sockets_.push_back(fmt::format("/tmp/.java_pid{}", child.pid()));
    EXPECT_TRUE(eventually([&] {
      const auto process = Process::open(child.pid());
      return process && can_attach(*process);
    }));
    return Process::open(child.pid());
  }
  static std::string socket_of(const Process& process) {
    return fmt::format("/tmp/.java_pid{}", process.pid());
  }
  void expect_answers(const Process& process) {
    const std::array<std::string, 1> version = {"VM.version"};
    for (int round = 0; round < 2; ++round) {
      const auto answer = attach_command(process, "jcmd", version);
      ASSERT_TRUE(answer) << to_string(answer.error());
      EXPECT_NE(answer->find("VM version"), std::string::npos) << *answer;
    }
    EXPECT_FALSE(fs::exists(fmt::format("/tmp/.attach_pid{}", process.pid())));
  }

  fs::path directory_;
  std::vector<std::string> sockets_;
};

TEST_P(Attach, Answers) {
  ChildProcess child(command());
  const auto process = ready(child);
  ASSERT_TRUE(process);
  expect_answers(*process);
  const std::array<std::string, 1> nonsense = {"No.such"};
  const auto refused = attach_command(*process, "jcmd", nonsense);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("Unknown diagnostic command"), std::string::npos);
  EXPECT_TRUE(child.running());
}

TEST_P(Attach, AnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can start a JVM as another user";
  ChildProcess child(command(), [] {
    if (::setgid(12345) != 0 || ::setuid(12345) != 0) ::_exit(125);
  });
  const auto process = ready(child);
  ASSERT_TRUE(process);
  expect_answers(*process);
  EXPECT_EQ(::geteuid(), 0U);
  struct stat info{};
  ASSERT_EQ(::stat(socket_of(*process).c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 12345U);
}

TEST_P(Attach, JvmThatSigquitWouldEndIsLeftAlone) {
  ChildProcess child(command({"-Xrs"}));
  const auto process = ready(child);
  ASSERT_TRUE(process);
  // It listens from the start; without the socket only the signal would be left.
  ASSERT_TRUE(eventually([&] { return fs::exists(socket_of(*process)); }));
  fs::remove(socket_of(*process));
  EXPECT_FALSE(can_attach(*process));
  const auto answer = attach_command(*process, "jcmd");
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().what.find("SIGQUIT"), std::string::npos) << answer.error().what;
  EXPECT_TRUE(child.running());
}

TEST_P(Attach, TurnedOff) {
  ChildProcess child(command({"-XX:+DisableAttachMechanism"}));
  ASSERT_TRUE(eventually([&] {
    const auto process = Process::open(child.pid());
    if (!process) return false;
    const auto maps = process->maps();
    return maps && std::ranges::any_of(*maps, [](const Mapping& mapping) {
             return mapping.path.ends_with("libjvm.so");
           });
  }));
  const auto process = Process::open(child.pid());
  ASSERT_TRUE(process);
  const auto answer = attach_command(*process, "jcmd");
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().hint.find("DisableAttachMechanism"), std::string::npos);
}

TEST_P(Attach, StoppedJvm) {
  ChildProcess child(command());
  const auto process = ready(child);
  ASSERT_TRUE(process);
  ::kill(child.pid(), SIGSTOP);
  ASSERT_TRUE(eventually([&] { return read_status(child.pid())->state == 'T'; }));
  // Left by an earlier JVM of this pid: nobody listens.
  const UniqueFd stale(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  fs::remove(socket_of(*process));
  socket_of(*process).copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(stale.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const auto answer = attach_command(*process, "jcmd");
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().what.find("stopped"), std::string::npos);
  ::kill(child.pid(), SIGCONT);
  expect_answers(*process);
}

TEST_P(Attach, CompilerPerfmap) {
  ChildProcess child(command());
  const auto process = ready(child);
  ASSERT_TRUE(process);
  const std::string map = fmt::format("/tmp/perf-{}.map", child.pid());
  RuntimeInfo runtime;
  runtime.runtime = Runtime::hotspot;
  auto source = open_compiler_perfmap_source(*process, runtime);
  if (!source && source.error().what.find("has no Compiler.perfmap") != std::string::npos) {
    GTEST_SKIP() << source.error().what;
  }
  ASSERT_TRUE(source) << to_string(source.error());
  const auto snapshot = (*source)->read();
  ASSERT_TRUE(snapshot);
  EXPECT_GT(snapshot->bodies.size(), 100U);
  for (const CodeBody& body : snapshot->bodies) {
    EXPECT_EQ(body.entry, 0U);
    EXPECT_FALSE(body.not_probeable.empty());
  }
  EXPECT_TRUE(eventually([&] {  // once it is compiled
    const auto now = (*source)->read();
    return now && std::ranges::any_of(now->bodies, [](const CodeBody& body) {
             return body.name->type == "java.lang.String";
           });
  }));
  EXPECT_FALSE(fs::exists(map)) << "what the reading caused is removed";

  // A name that leads elsewhere must not be given to the JVM to write to.
  const fs::path victim = directory_ / "victim";
  std::ofstream(victim) << "precious";
  fs::create_symlink(victim, map);
  EXPECT_FALSE((*source)->read());
  EXPECT_EQ(fs::file_size(victim), 8U);
  fs::remove(map);

  // A map that was there is written anew and stays.
  std::ofstream(map) << "10 2 old\n";
  const auto again = (*source)->read();
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_GT(again->bodies.size(), 100U);
  EXPECT_TRUE(fs::exists(map));
  fs::remove(map);
}

INSTANTIATE_TEST_SUITE_P(Jdks, Attach, ::testing::ValuesIn([] {
                           auto javas = find_javas();
                           if (javas.empty()) javas.emplace_back();
                           return javas;
                         }()),
                         [](const auto& jdk) { return fmt::format("Jdk{}", jdk.index); });

TEST(AttachToOthers, NotAJvm) {
  const auto self = Process::open(::getpid());
  ASSERT_TRUE(self);
  const auto answer = attach_command(*self, "jcmd");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::not_possible);
  EXPECT_FALSE(can_attach(*self));
}

TEST(AttachToOthers, CommandsThatCannotBeSent) {
  const auto self = Process::open(::getpid());
  ASSERT_TRUE(self);
  const std::array<std::string, 4> many = {"a", "b", "c", "d"};
  EXPECT_EQ(attach_command(*self, "jcmd", many).error().kind, ErrorKind::usage);
  const std::array<std::string, 1> nul = {std::string("a\0b", 3)};
  EXPECT_EQ(attach_command(*self, "jcmd", nul).error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace jitscope
