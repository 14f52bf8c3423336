#include "runtimes/runtime_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

namespace jitscope {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RuntimeKind seen(std::initializer_list<std::string_view> paths) {
  RuntimeKind kind;
  for (const std::string_view path : paths) kind.see(path);
  return kind;
}

TEST(RuntimeKind, KnowsRuntimesByTheNamesOfTheirFiles) {
  EXPECT_EQ(seen({"/usr/bin/node"}).name(), "Node (V8)");
  EXPECT_EQ(seen({"/usr/bin/nodejs", "/lib/libnode.so.108"}).name(), "Node (V8)");
  EXPECT_EQ(seen({"/usr/lib/erlang/erts-13.1.5/bin/beam.smp"}).name(), "Erlang");
  EXPECT_EQ(seen({"/usr/bin/qemu-x86_64"}).name(), "QEMU");
  EXPECT_EQ(seen({"/usr/bin/app", "/usr/lib/libluajit-5.1.so.2"}).name(), "LuaJIT");
  // Another word is another program.
  for (const char* path : {"/usr/bin/nodepad", "/usr/bin/bundle", "/usr/bin/rubytool",
                           "/bin/monosim", "/usr/bin/juliandate", "/usr/lib/libc.so.6", ""}) {
    EXPECT_EQ(seen({path}).name(), "") << path;
  }
}

TEST(RuntimeKind, TheJvmsLibraryCountsBeforeAll) {
  EXPECT_EQ(seen({"/usr/bin/python3.11", "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so"})
                .name(),
            "HotSpot");
  EXPECT_EQ(seen({"/opt/j9/lib/default/libj9vm29.so", "/opt/j9/lib/server/libjvm.so"}).name(),
            "OpenJ9");
}

TEST(RuntimeKind, VersionsDecideWhatIsSaid) {
  EXPECT_THAT(
      seen({"/usr/lib/jvm/java-8-openjdk-amd64/jre/lib/amd64/server/libjvm.so"}).how_to_name(),
      Not(HasSubstr("Compiler.perfmap")));
  EXPECT_THAT(seen({"/opt/jdk1.8.0_292/jre/lib/amd64/server/libjvm.so"}).how_to_name(),
              Not(HasSubstr("Compiler.perfmap")));
  for (const char* path : {"/usr/lib/jvm/java-1.17.0-openjdk-amd64/lib/server/libjvm.so",
                           "/usr/lib/jvm/temurin-25-jdk-amd64/lib/server/libjvm.so",
                           "/somewhere/lib/server/libjvm.so"}) {
    EXPECT_THAT(seen({path}).how_to_name(), HasSubstr("Compiler.perfmap")) << path;
  }
  EXPECT_TRUE(seen({"/usr/bin/ruby3.1"}).hopeless());
  EXPECT_FALSE(seen({"/usr/bin/ruby3.3"}).hopeless());
  // Of no version: both are said.
  EXPECT_THAT(seen({"/usr/bin/ruby"}).how_to_name(), HasSubstr("--yjit-perf (a map); Ruby before"));
  // The library tells what the program's name does not.
  EXPECT_TRUE(seen({"/usr/bin/ruby", "/usr/lib/libruby-3.1.so.3.1.2"}).hopeless());
  EXPECT_THAT(
      seen({"/usr/share/dotnet/shared/Microsoft.NETCore.App/2.0.9/libcoreclr.so"}).how_to_name(),
      HasSubstr("COMPlus"));
  EXPECT_THAT(
      seen({"/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.1/libcoreclr.so"}).how_to_name(),
      HasSubstr("DOTNET"));
}

TEST(RuntimeKind, WineIsKnownWhateverItRuns) {
  const char* unix_part = "/usr/lib/x86_64-linux-gnu/wine/x86_64-unix/ntdll.so";
  for (const char* loader : {"/usr/lib/wine/wine64", "/opt/wine/bin/wine64-preloader",
                             "/opt/wine/bin/wine", unix_part}) {
    EXPECT_EQ(seen({loader}).name(), "Wine") << loader;
    EXPECT_EQ(seen({loader}).runtime(), Runtime::unknown) << loader;
  }
  // Programs for Windows of other runtimes' names, and what such a process maps besides.
  for (const char* path : {"/w/drive_c/Python/python.exe", "/w/Ruby/RUBY.EXE", "/w/node.exe",
                           "/w/python311.dll", "/usr/lib/libpython3.11.so.1.0"}) {
    EXPECT_EQ(seen({path, unix_part}).name(), "Wine") << path;
    const RuntimeKind kind = seen({unix_part, path});
    EXPECT_EQ(kind.name(), "Wine") << path;
    EXPECT_TRUE(kind.in_images());
    EXPECT_THAT(kind.how_to_name(), HasSubstr("perf record -d"));
    EXPECT_EQ(kind.how_to_map(), kind.how_to_name());
  }
  EXPECT_EQ(seen({"/w/node.exe"}).name(), "");
  EXPECT_EQ(seen({"/usr/bin/wineserver64", "/usr/lib/wine/winex11.so"}).name(), "");
  EXPECT_FALSE(seen({"/usr/bin/node"}).in_images());
}

TEST(RuntimeKind, ASingleFileProgramOfDotNetIsKnownByItsMemory) {
  const RuntimeKind single = seen({"/opt/tool/Tool", "/memfd:doublemapper"});
  EXPECT_EQ(single.name(), ".NET");
  EXPECT_EQ(single.runtime(), Runtime::dotnet);
  EXPECT_THAT(single.how_to_name(), HasSubstr("DOTNET_PerfMapEnabled=1"));
  // The library tells the version, whichever comes first.
  const char* library = "/usr/share/dotnet/shared/Microsoft.NETCore.App/3.1.9/libcoreclr.so";
  EXPECT_THAT(seen({"/memfd:doublemapper", library}).how_to_name(), HasSubstr("COMPlus"));
  EXPECT_THAT(seen({library, "/memfd:doublemapper"}).how_to_name(), HasSubstr("COMPlus"));
  EXPECT_EQ(seen({"/memfd:doublemapped"}).name(), "");
}

TEST(RuntimeKind, EveryRuntimeOfTheModelHasARow) {
  for (const Runtime runtime : {Runtime::hotspot, Runtime::v8, Runtime::dotnet, Runtime::erlang,
                                Runtime::php, Runtime::mono}) {
    EXPECT_NE(RuntimeKind(runtime).name(), "");
  }
  EXPECT_EQ(RuntimeKind(Runtime::unknown).name(), "");
  EXPECT_NE(RuntimeKind().how_to_name(), "");
}

}  // namespace
}  // namespace jitscope
