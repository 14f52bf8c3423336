// Symbols from a debuginfod server of this machine, only when asked for.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/unique_fd.h"
#include "symbolize/elf_image.h"
#include "tests/unit/process/target_program.h"
#include "tests/unit/symbolize/built_program.h"

namespace jitscope {
namespace {

// A port that is free now.
int free_port() {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return 0;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin_port);
}

class DebuginfodTest : public test::BuiltProgramTest {
 protected:
  void SetUp() override {
    BuiltProgramTest::SetUp();
    for (const char* const tool : {"debuginfod", "g++", "objcopy", "strip", "nm"}) {
      if (!have(tool)) GTEST_SKIP() << tool << " is not installed";
    }
    write("p.cc",
          "static __attribute__((noipa)) int inner(int x) { return x * 3; }\n"
          "int main(int argc, char**) { return inner(argc); }\n");
    ASSERT_TRUE(
        run("g++ -O1 -g -Wl,--build-id=sha1 p.cc -o p && mkdir served && cp p served/whole"))
        << output_;
    inner_ = address_of("p", "_ZL5inneri");
    ASSERT_NE(inner_, 0U);
    port_ = free_port();
    ASSERT_NE(port_, 0);
    // What is not there yet is asked for again.
    write("cache/cache_miss_s", "0");
    for (const auto& [name, value] :
         {std::pair<const char*, std::string>("HOME", directory_),
          {"DEBUGINFOD_CACHE_PATH", path("cache")},
          {"DEBUGINFOD_URLS", "http://127.0.0.1:" + std::to_string(port_)}}) {
      const char* before = std::getenv(name);
      before_.emplace_back(name, before != nullptr ? before : "");
      ::setenv(name, value.c_str(), 1);
    }
  }
  void TearDown() override {
    for (const auto& [name, value] : before_) {
      if (value.empty()) {
        ::unsetenv(name);
      } else {
        ::setenv(name, value.c_str(), 1);
      }
    }
    BuiltProgramTest::TearDown();
  }
  [[nodiscard]] ElfImageOptions options(bool ask) const {
    ElfImageOptions options;
    options.debug_directories.clear();
    options.debuginfod = ask;
    return options;
  }

  uint64_t inner_ = 0;
  int port_ = 0;
  std::vector<std::pair<const char*, std::string>> before_;
};

TEST_F(DebuginfodTest, AsksOnlyWhenItMay) {
  const auto id = (*ElfImage::open(path("p"), {}, options(false)))->build_id();
  ASSERT_TRUE(run("strip p")) << output_;
  // Without its own address among the servers that it asks in turn.
  const TargetProgram server(
      "sh", {"-c", "exec env -u DEBUGINFOD_URLS debuginfod -p " + std::to_string(port_) +
                       " -d :memory: -F -t 1 '" + path("served") + "' 2>/dev/null"});
  std::unique_ptr<ElfImage> image;
  ASSERT_TRUE(eventually([&] {
    auto opened = ElfImage::open(path("p"), id, options(true));
    if (!opened || !(*opened)->has_symbols()) return false;
    image = std::move(*opened);
    return true;
  }));
  const auto hit = image->symbol_at(inner_);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->name, "inner");
  EXPECT_TRUE(image->symbol_file().starts_with(path("cache"))) << image->symbol_file();
  EXPECT_FALSE(image->source_frames(inner_).empty());
  EXPECT_FALSE((*ElfImage::open(path("p"), id, options(false)))->has_symbols());
  // The program itself, too.
  const auto gone = ElfImage::open(path("gone"), id, options(true));
  ASSERT_TRUE(gone) << to_string(gone.error());
  EXPECT_TRUE((*gone)->symbol_at(inner_));
  EXPECT_FALSE(ElfImage::open(path("gone"), id, options(false)));
}

}  // namespace
}  // namespace jitscope
